import type { Edit } from '../contract.ts'
import { type Case, type Row, toCase } from './case.ts'

const limit = `        - name: limit
          in: query
          description: Notes on a page.
          schema: { type: integer, minimum: 1, maximum: 100, default: 20 }
`
const device = `        - name: x-device-id
          in: header
          description: The device that asks.
          schema: { type: string, maxLength: 64 }
`
const q = `        - name: q
          in: query
          description: Words.
          schema: { type: string, maxLength: 8 }
`
const id = `        id: { type: string, maxLength: 64, description: The note's id. }\n`
const text = `        text: { type: string, maxLength: 1000, description: The text. }\n`
const site = "{ type: object, properties: { name: { type: string, description: The place's name. } } }"
const titled = (title: string) => site.replace('{ type', `{ title: ${title}, type`)
const toPlace = 'place: { $ref: "#/components/schemas/Place" }'
const withTags = (more = ''): Edit => [
  id,
  `${id}        tags: { type: array, maxItems: 9,${more} description: Tags., items: { type: string, maxLength: 9 } }\n`,
]
const author = 'author: { type: string, description: Who wrote it. }'
const withAuthor = (more: string): Edit => [author, author.replace('string,', `string, ${more},`)]
const spot: Edit = ['    Place:\n', `    Spot: ${site}\n    Place:\n`]
const color = 'colour: { type: string, enum: [red, green, blue], description: The colour. }'
const colour: Edit = [
  '    Place:\n',
  '    Colour: { type: string, enum: [red, green, blue], description: The colour. }\n    Place:\n',
]
const media = 'application/json:\n              schema: { $ref: "#/components/schemas/Status" }\n'
const yaml = media.replace('application/json', 'application/yaml')
const either =
  '    Either:\n      description: One of two.\n      oneOf: [{ $ref: "#/components/schemas/Place" }, { $ref: "#/components/schemas/Status" }]\n    Error:\n'
const withEither: Edit[] = [
  ['    Error:\n', either],
  [toPlace, 'place: { $ref: "#/components/schemas/Either" }'],
]
const eitherSent: Edit[] = [
  ['    Error:\n', either],
  [id, `${id}        place: { $ref: "#/components/schemas/Either" }\n`],
]

const constants: Edit[] = [['[red, green, blue],', '[red, green, blue], x-enum-varnames: [RED, GREEN, BLUE],']]

/** The operation getNote has `x-device-id`, and its path has `q`. */
const inPath: Edit[] = [
  ['    parameters:\n      - name: id\n', `    parameters:\n${q.replaceAll('        ', '      ')}      - name: id\n`],
  ['      x-not-found: Note not found\n', `      x-not-found: Note not found\n      parameters:\n${device}`],
]
const ofPath: Edit = [q.replaceAll('        ', '      '), '']
const toFront: Edit = [device, q + device]
const toEnd: Edit = [device, device + q]

/**
 * What generated code makes of order, names and types, as openapi-generator 7.25.0 wrote it: Java and Kotlin pass arguments by
 * position, those that are required first and those of the path last; Kotlin's constructors and Go's structs have the order of
 * the fields. Each of the types below is another one in Java, Kotlin or Go.
 */
export const generated: Case[] = (
  [
    // Order.
    [
      'major',
      'two parameters swapped',
      [
        [limit, ''],
        [device, device + limit],
      ],
      /`limit`, `x-device-id` are now `x-device-id`, `limit`/,
      { findings: 1 },
    ],
    [
      'major',
      'an optional parameter before old ones',
      [[limit, q + limit]],
      /`q` is new before `limit`/,
      { findings: 1 },
    ],
    ['major', 'an optional parameter between old ones', [[device, q + device]], /`q` is new before `x-device-id`/],
    [
      'minor',
      'an optional parameter after the old ones',
      [[device, device + q]],
      /parameter `q` is new/,
      { findings: 1 },
    ],
    [
      'minor',
      'an optional parameter after a body that is required',
      [['      x-invalid: Invalid note\n', `      x-invalid: Invalid note\n      parameters:\n${q}`]],
      /parameter `q` is new/,
    ],
    [
      'major',
      'an optional parameter before a body that is optional',
      [['      x-invalid: Invalid note\n', `      x-invalid: Invalid note\n      parameters:\n${q}`]],
      /`q` is new before `the body`/,
      {
        given: [
          [
            '        required: true\n        description: The note.\n        content',
            '        description: The note.\n        content',
          ],
        ],
      },
    ],
    [
      'minor',
      'an optional parameter before one that is required, behind which it comes',
      [
        [
          '    parameters:\n      - name: id\n',
          `    parameters:\n${q.replaceAll('        ', '      ')}      - name: id\n`,
        ],
      ],
      /parameter `q` is new/,
    ],
    [
      'major',
      'a parameter that is no longer required, and so comes later',
      [['          in: header\n          required: true\n', '          in: header\n']],
      /another order/,
      { given: [['          in: header\n', '          in: header\n          required: true\n']] },
    ],
    [
      'major',
      'a parameter of the path before the others of an operation',
      [ofPath, toFront],
      /another order/,
      { given: [[device, ''], ...inPath] },
    ],
    [
      'none',
      'a parameter of the path behind the others of an operation',
      [ofPath, toEnd],
      undefined,
      { given: [[device, ''], ...inPath], findings: 0 },
    ],
    [
      'major',
      'fields of a request swapped',
      [[id + text, text + id]],
      /The fields are in another order: `id`, `text`.*are now `text`, `id`/,
      { findings: 1 },
    ],
    [
      'major',
      'fields of a response swapped',
      [
        ['        created_at: { type: integer, description: When it was stored (Unix ms). }\n', ''],
        [
          `        ${author}\n`,
          `        ${author}\n        created_at: { type: integer, description: When it was stored (Unix ms). }\n`,
        ],
      ],
      /The fields are in another order/,
    ],
    [
      'major',
      'a new field before the old ones of a request',
      [[id, `        size: { type: integer, description: Its size. }\n${id}`]],
      /`size` is new before `id`/,
      { findings: 1 },
    ],
    [
      'minor',
      'a new field after those of a request',
      [['      if:', '        size: { type: integer, description: Its size. }\n      if:']],
      /`size` is new/,
    ],
    [
      'major',
      'fields of what no operation carries swapped',
      [
        ['        text: { type: string, description: The text. }\n        mood', '        mood'],
        ["The writer's mood. }\n", "The writer's mood. }\n        text: { type: string, description: The text. }\n"],
      ],
      /another order/,
    ],
    [
      'major',
      'another first media type',
      [[`${media}            ${yaml}`, `${yaml}            ${media}`]],
      /first media type.*`application\/json` and is `application\/yaml`/,
      { given: [[media, `${media}            ${yaml}`]] },
    ],
    [
      'minor',
      'another media type of a response',
      [[media, `${media}            ${yaml}`]],
      /`application\/yaml` is new/,
    ],
    ['major', 'another media type before the old one', [[media, `${yaml}            ${media}`]], /first media type/],
    [
      'major',
      'a media type less',
      [[`            ${yaml}`, '']],
      /`application\/yaml` is gone/,
      { given: [[media, `${media}            ${yaml}`]] },
    ],
    [
      'major',
      'the alternatives in another order',
      [
        [
          '[{ $ref: "#/components/schemas/Place" }, { $ref: "#/components/schemas/Status" }]',
          '[{ $ref: "#/components/schemas/Status" }, { $ref: "#/components/schemas/Place" }]',
        ],
      ],
      /alternatives are in another order/,
      { given: withEither },
    ],
    [
      'major',
      'one more alternative in a response',
      [
        [
          '"#/components/schemas/Status" }]',
          '"#/components/schemas/Status" }, { $ref: "#/components/schemas/Error" }]',
        ],
      ],
      /`Error` is new/,
      { given: withEither },
    ],
    [
      'minor',
      'one more alternative in a request',
      [
        [
          '"#/components/schemas/Status" }]',
          '"#/components/schemas/Status" }, { $ref: "#/components/schemas/Error" }]',
        ],
      ],
      /`Error` is new/,
      { given: eitherSent },
    ],
    [
      'major',
      'one alternative less in a request',
      [[', { $ref: "#/components/schemas/Status" }]', ']']],
      /`Status` is gone/,
      { given: eitherSent },
    ],
    // Names.
    [
      'major',
      'another title of the contract',
      [['title: Notes', 'title: Our Notes']],
      /`title` of `info` changed from `Notes` to `Our Notes`/,
      { findings: 1 },
    ],
    [
      'major',
      'a title of a type',
      [['    Note:\n', '    Note:\n      title: Memo\n']],
      /`title` of `Note` is new: `Memo`/,
      { findings: 1 },
    ],
    [
      'major',
      'another title of a type within another',
      [['title: Spot', 'title: Site']],
      /class Site where it had the class Spot/,
      { given: [[toPlace, `place: ${titled('Spot')}`]], findings: 1 },
    ],
    ['patch', 'a title of a text', [withAuthor('title: Author')], /`title` of `author`/],
    [
      'major',
      'an object that becomes a type',
      [[`place: ${site}`, toPlace]],
      /`place` is now the type `Place`/,
      { given: [[toPlace, `place: ${site}`]] },
    ],
    ['major', 'a type that becomes an object', [[toPlace, `place: ${site}`]], /`place` is no longer the type `Place`/],
    [
      'minor',
      'an object that becomes a type of the name that it had',
      [[`place: ${titled('Spot')}`, toPlace.replace('Place', 'Spot')], spot],
      /type `Spot` is new/,
      { given: [[toPlace, `place: ${titled('Spot')}`]], findings: 1 },
    ],
    [
      'major',
      'an equal type',
      [[toPlace, toPlace.replace('Place', 'Spot')]],
      /type of `place` changed from `Place` to `Spot`.*class Spot/,
      { given: [spot] },
    ],
    [
      'major',
      'a type under another name',
      [
        ['    Place:\n', '    Spot:\n'],
        [toPlace, toPlace.replace('Place', 'Spot')],
      ],
      /The type `Place` is now `Spot`/,
      { findings: 1 },
    ],
    [
      'major',
      'an enum that becomes a type',
      [[color, 'colour: { $ref: "#/components/schemas/Colour" }']],
      /class Colour where it had an enum/,
      { given: [colour] },
    ],
    [
      'major',
      'a type that becomes an enum',
      [['colour: { $ref: "#/components/schemas/Colour" }', color]],
      /an enum where it had the class Colour/,
      { given: [colour, [color, 'colour: { $ref: "#/components/schemas/Colour" }']] },
    ],
    [
      'major',
      'a value of an enum under another name',
      [['[draft, final]', '[draft, done]']],
      /gained `done` and lost `final`/,
      { findings: 1 },
    ],
    [
      'major',
      'credentials under another name',
      [
        ['  - session: []', '  - cookie: []'],
        ['    session:\n', '    cookie:\n'],
      ],
      /`session` is now `cookie`/,
    ],
    [
      'major',
      'a path under another name',
      [['  /status:\n', '  /health:\n']],
      /`GET \/status` is now `GET \/health`/,
      { findings: 1 },
    ],
    [
      'major',
      'a parameter under another name',
      [['name: limit', 'name: size']],
      /`limit` is now `size`/,
      { findings: 1 },
    ],
    [
      'major',
      'a field under another name',
      [['        author: {', '        writer: {']],
      /`author` is now `writer`/,
      { findings: 1 },
    ],
    [
      'major',
      'a constant of an enum under another name',
      [['[RED, GREEN, BLUE]', '[Red, GREEN, BLUE]']],
      /gained `red: Red` and lost `red: RED`/,
      { given: constants, findings: 1 },
    ],
    [
      'none',
      'an enum and its constants in another order',
      [
        ['[red, green, blue]', '[blue, red, green]'],
        ['[RED, GREEN, BLUE]', '[BLUE, RED, GREEN]'],
      ],
      undefined,
      { given: constants, findings: 0 },
    ],
    // Types.
    [
      'major',
      'a list of a request that is a set',
      [['maxItems: 9,', 'maxItems: 9, uniqueItems: true,']],
      /a set where it had a list/,
      { given: [withTags()] },
    ],
    [
      'major',
      'a list of a response that is a set',
      [['          type: array\n', '          type: array\n          uniqueItems: true\n']],
      /a set where it had a list/,
    ],
    [
      'major',
      'a set that is a list',
      [[' uniqueItems: true,', '']],
      /a list where it had a set/,
      { given: [withTags(' uniqueItems: true,')] },
    ],
    ['major', 'a text that is a UUID', [withAuthor('format: uuid')], /a UUID where it had a string/],
    [
      'major',
      'a UUID that is a text',
      [['format: uuid, ', '']],
      /a string where it had a UUID/,
      { given: [withAuthor('format: uuid')] },
    ],
    ['major', 'a text that is a time', [withAuthor('format: date-time')], /a time where it had a string/],
    [
      'minor',
      'a text of a response with a format that is no type',
      [withAuthor('format: email')],
      /`format` of `author` is new: `email`/,
    ],
    [
      'major',
      'an integer that is long',
      [['created_at: { type: integer,', 'created_at: { type: integer, format: int64,']],
      /a long integer where it had an integer/,
    ],
    [
      'minor',
      'an integer of a response with its usual width',
      [['created_at: { type: integer,', 'created_at: { type: integer, format: int32,']],
      /`int32`/,
    ],
    [
      'major',
      'an integer of a request that is a number',
      [['schema: { type: integer, minimum: 1', 'schema: { type: number, minimum: 1']],
      /a decimal where it had an integer/,
    ],
    ['major', 'a text of a response that is an enum', [withAuthor('enum: [me, you]')], /an enum where it had a string/],
    [
      'major',
      'a text of a response or a number',
      [[author, author.replace('string', '[string, integer]')]],
      /`author` gained `integer`/,
    ],
    [
      'major',
      'other elements of a list',
      [
        [
          'description: Tags., items: { type: string, maxLength: 9 }',
          'description: Tags., items: { type: integer, maximum: 9 }',
        ],
      ],
      /an integer where it had a string/,
      { given: [withTags()] },
    ],
    [
      'major',
      'an object that is a map',
      [
        [
          "    Place:\n      type: object\n      description: Where it was written.\n      properties:\n        name: { type: string, description: The place's name. }\n",
          '    Place:\n      type: object\n      description: Where it was written.\n',
        ],
      ],
      /fields of `Place` are gone/,
    ],
    [
      'major',
      'an object of a response whose values have a type from now on',
      [['author: { type: object,', 'author: { type: object, additionalProperties: { type: string },']],
      /a map where it had any object/,
      { given: [[author, author.replace('string', 'object')]], findings: 1 },
    ],
    [
      'major',
      '`readOnly` of a field that is sent and read',
      [
        [
          "name: { type: string, description: The place's",
          "name: { type: string, readOnly: true, description: The place's",
        ],
      ],
      /`readOnly` of `name`/,
      { given: [[id, `${id}        ${toPlace}\n`]] },
    ],
    [
      'major',
      '`readOnly` of a field that is sent',
      [['pinned: { type: boolean,', 'pinned: { type: boolean, readOnly: true,']],
      /`readOnly` of `pinned`/,
    ],
    ['minor', '`readOnly` of a field that is only read', [withAuthor('readOnly: true')], /`readOnly` of `author`/],
    [
      'minor',
      'a field that may be sent again',
      [['readOnly: true, ', '']],
      /`readOnly` of `pinned` is gone/,
      { given: [['pinned: { type: boolean,', 'pinned: { type: boolean, readOnly: true,']] },
    ],
    [
      'minor',
      'a text that becomes a type of its own, of which nothing is generated',
      [
        [
          "id: { type: string, description: The note's id. }",
          'id: { $ref: "#/components/schemas/Key", description: The note\'s id. }',
        ],
        ['    Error:\n', '    Key: { type: string, description: A key. }\n    Error:\n'],
      ],
      /type `Key` is new/,
      { findings: 1 },
    ],
  ] satisfies Row[]
).map(toCase)
