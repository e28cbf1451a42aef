import type { Edit } from '../contract.ts'
import { type Case, type Row, toCase } from './case.ts'

const id = `        id: { type: string, maxLength: 64, description: The note's id. }\n`
const author = 'author: { type: string, description: Who wrote it. }'
const server = '  - url: https://notes.example\n    description: The service.\n'
const variable =
  '  - url: "https://{host}"\n    description: The service.\n    variables: { host: { default: a.example, enum: [a.example, b.example], description: Where. } }\n'
const unauthorized = '      description: No session.\n'
const retry = `${unauthorized}      headers: { Retry-After: { description: How long to wait (seconds)., schema: { type: integer } } }\n`
const tags = (more = '') =>
  `        - name: tags\n          in: query\n          description: Tags.\n${more}          schema: { type: array, items: { type: string } }\n`
const key: Edit[] = [
  ['    Error:\n', '    Key: { type: string, maxLength: 64, description: A key. }\n    Error:\n'],
  [
    id,
    id.replace("{ type: string, maxLength: 64, description: The note's id. }", '{ $ref: "#/components/schemas/Key" }'),
  ],
  [
    '        schema: { type: string, maxLength: 64 }\n    get:',
    '        schema: { $ref: "#/components/schemas/Key" }\n    get:',
  ],
]
const login = (young: string) => `      x-login: { young: ${young}, because: It erases. }\n`
const created = '      operationId: createNote\n'

/** What looks harmless and is not, and how it is told: once, with its name, and with what it reaches. */
export const told: Case[] = (
  [
    [
      'major',
      'a new default of a parameter',
      [['schema: { type: string, maxLength: 64 }', 'schema: { type: string, maxLength: 64, default: none }']],
      /default of `x-device-id` is new: `none`/,
    ],
    ['major', 'a default less', [[', default: 20', '']], /default of `limit` is gone; it was `20`/],
    [
      'major',
      'a new default of a field of a request',
      [['pinned: { type: boolean,', 'pinned: { type: boolean, default: true,']],
      /default of `pinned` is new: `true`/,
    ],
    [
      'major',
      'a server that takes few values',
      [[', description: Where.', ', enum: [a.example], description: Where.']],
      /`enum` of `host` is new/,
      { given: [[server, variable.replace(' enum: [a.example, b.example],', '')]] },
    ],
    [
      'major',
      'a server that takes fewer values',
      [[', b.example]', ']']],
      /`enum` of `host` lost `b.example`/,
      { given: [[server, variable]] },
    ],
    [
      'minor',
      'a server that takes more values',
      [[', b.example]', ', b.example, c.example]']],
      /`enum` of `host` gained `c.example`/,
      { given: [[server, variable]] },
    ],
    [
      'minor',
      'a server that takes any value',
      [[' enum: [a.example, b.example],', '']],
      /`enum` of `host` is gone/,
      { given: [[server, variable]] },
    ],
    [
      'major',
      'another default of a server',
      [['default: a.example', 'default: b.example']],
      /`default` of `host` changed from `a.example` to `b.example`/,
      { given: [[server, variable]] },
    ],
    [
      'minor',
      'one more server',
      [[server, `${server}  - { url: https://more.example, description: More. }\n`]],
      /`https:\/\/more.example` is new/,
    ],
    [
      'major',
      'another first server',
      [[server, `  - { url: https://more.example, description: More. }\n${server}`]],
      /first server.*is `https:\/\/more.example`/,
    ],
    [
      'major',
      'a new limit',
      [['notesPerPage: 100', 'notesPerPage: 100, notesPerDay: 9']],
      /`notesPerDay` is new: `9`/,
      { findings: 1 },
    ],
    ['major', 'a limit less', [[', notesPerPage: 100', '']], /`notesPerPage` is gone; it was `100`/, { findings: 1 }],
    [
      'major',
      'a lower limit',
      [['notesPerPage: 100', 'notesPerPage: 50']],
      /`notesPerPage` changed from `100` to `50`/,
      { findings: 1 },
    ],
    [
      'major',
      'a cookie without an attribute',
      [[', sameSite: Lax', '']],
      /`sameSite` of `session` is gone/,
      { findings: 1 },
    ],
    [
      'major',
      'a cookie that ends earlier',
      [['maxAge: 3600', 'maxAge: 60']],
      /`maxAge` of `session` changed from `3600` to `60`/,
      { findings: 1 },
    ],
    [
      'major',
      'a cookie of another form',
      [['"^author="', '"^sid="']],
      /`pattern` of `Set-Cookie` changed from `\^author=` to `\^sid=`/,
      { findings: 1 },
    ],
    [
      'minor',
      'a cookie that promises a form',
      [[', pattern: "^author="', ', pattern: "^author=", minLength: 8']],
      /`minLength` of `Set-Cookie` is new/,
    ],
    [
      'major',
      'another style of a parameter',
      [[tags(), tags('          style: pipeDelimited\n')]],
      /`style` of `tags`/,
      { given: [['        - name: x-device-id\n', `${tags()}        - name: x-device-id\n`]] },
    ],
    [
      'major',
      'a list that is one text',
      [[tags(), tags('          explode: false\n')]],
      /`explode` of `tags` is new: `false`/,
      { given: [['        - name: x-device-id\n', `${tags()}        - name: x-device-id\n`]] },
    ],
    [
      'major',
      'a parameter in another place',
      [['        - name: x-device-id\n          in: header', '        - name: x-device-id\n          in: query']],
      /`x-device-id`/,
    ],
    [
      'major',
      'a pattern of a request',
      [['colour: { type: string,', 'colour: { type: string, pattern: "^[a-z]+$",']],
      /`pattern` of `colour` is new/,
    ],
    [
      'minor',
      'a pattern of a response',
      [[author, author.replace('string,', 'string, pattern: "^[a-z]+$",')]],
      /`pattern` of `author` is new/,
    ],
    [
      'major',
      'another pattern of a response',
      [['pattern: "^[a-z]+$"', 'pattern: "^[A-Z]+$"']],
      /`pattern` of `author` changed/,
      { given: [[author, author.replace('string,', 'string, pattern: "^[a-z]+$",')]] },
    ],
    [
      'major',
      'a request without further fields',
      [['    NewNote:\n      type: object\n', '    NewNote:\n      type: object\n      additionalProperties: false\n']],
      /`additionalProperties` of `NewNote`/,
    ],
    [
      'minor',
      'a response without further fields',
      [['    Status:\n      type: object\n', '    Status:\n      type: object\n      additionalProperties: false\n']],
      /`additionalProperties` of `Status`/,
    ],
    [
      'major',
      'a required field that is new in a request',
      [
        ['required: [text]\n      properties:\n        id', 'required: [text, size]\n      properties:\n        id'],
        ['      if:', '        size: { type: integer, description: Its size. }\n      if:'],
      ],
      /required field `size` is new/,
      { findings: 1 },
    ],
    [
      'minor',
      'a required field that is new in a response',
      [
        ['required: [up]', 'required: [up, since]'],
        [
          '        up: { type: boolean, description: Whether it runs. }\n',
          '        up: { type: boolean, description: Whether it runs. }\n        since: { type: integer, description: Since when (Unix ms). }\n',
        ],
      ],
      /`since` is new/,
      { findings: 1 },
    ],
    [
      'major',
      'a required field of a response less',
      [
        ['created_at, state]', 'created_at]'],
        ['        state: { type: string, enum: [draft, final], description: How far it is. }\n', ''],
      ],
      /`state` is gone/,
      { findings: 1 },
    ],
    [
      'major',
      'a response less',
      [
        [
          '        "409":\n          description: The id is in use.\n          content:\n            application/json:\n              schema: { $ref: "#/components/schemas/Error" }\n              examples:\n                NoteExists: { $ref: "#/components/examples/NoteExists" }\n',
          '',
        ],
      ],
      /response `409` is gone/,
    ],
    [
      'minor',
      'a header of a response',
      [
        [
          '            X-Total:',
          '            X-Pages: { description: Pages in all., schema: { type: integer } }\n            X-Total:',
        ],
      ],
      /`X-Pages` is new/,
      { findings: 1 },
    ],
    [
      'minor',
      'a header of a response in another case',
      [['X-Total:', 'x-total:']],
      undefined,
      { verdict: 'none', findings: 0 },
    ],
    [
      'major',
      'a body that is no longer read',
      [
        [
          '      requestBody:\n        required: true\n        description: The note.\n        content:\n          application/json:\n            schema: { $ref: "#/components/schemas/NewNote" }\n',
          '',
        ],
      ],
      /body is no longer read/,
    ],
    [
      'minor',
      'a body that may be left out',
      [
        [
          '        required: true\n        description: The note.\n        content',
          '        description: The note.\n        content',
        ],
      ],
      /may be missing|`required`/,
    ],
    [
      'minor',
      'other credentials that suffice, too',
      [
        ['  - session: []', '  - session: []\n  - key: []'],
        ['  securitySchemes:\n', '  securitySchemes:\n    key: { type: http, scheme: bearer, description: A key. }\n'],
      ],
      /sufficient, too: `key`/,
      { reaches: 3 },
    ],
    [
      'major',
      'credentials that do not suffice any more',
      [['  - session: []\n  - key: []', '  - session: []']],
      /No longer sufficient: key/,
      {
        given: [
          ['  - session: []', '  - session: []\n  - key: []'],
          [
            '  securitySchemes:\n',
            '  securitySchemes:\n    key: { type: http, scheme: bearer, description: A key. }\n',
          ],
        ],
        reaches: 3,
      },
    ],
    [
      'major',
      'both credentials are needed',
      [['  - session: []', '  - session: []\n    key: []']],
      /No longer sufficient: session/,
      {
        given: [
          [
            '  securitySchemes:\n',
            '  securitySchemes:\n    key: { type: http, scheme: bearer, description: A key. }\n',
          ],
        ],
      },
    ],
    [
      'major',
      'a younger login',
      [[login('never'), login('always')]],
      /`young` of .* changed from `never` to `always`/,
      { given: [[created, created + login('never')]], findings: 1 },
    ],
    [
      'minor',
      'a login of any age',
      [[login('always'), login('never')]],
      /changed from `always` to `never`/,
      { given: [[created, created + login('always')]] },
    ],
    [
      'patch',
      'another reason for it',
      [['It erases.', 'It erases all.']],
      /`because` of .* reworded/,
      { given: [[created, created + login('always')]] },
    ],
    [
      'major',
      'a limit of a type that several carry',
      [[key[0]?.[1] ?? '', (key[0]?.[1] ?? '').replace('64', '32')]],
      /`maxLength` of `Key` changed from `64` to `32`/,
      { given: key, findings: 1, reaches: 2 },
    ],
    [
      'major',
      'a header of an answer that several give',
      [[retry, unauthorized]],
      /`headers` is gone/,
      { given: [[unauthorized, retry]], findings: 1, reaches: 3 },
    ],
    [
      'minor',
      'an answer that several give with a header more',
      [[unauthorized, retry]],
      /`headers` is new/,
      { findings: 1, reaches: 3 },
    ],
    [
      'patch',
      'words of an answer that several give',
      [['No session.', 'There is no session.']],
      /`description` of `Unauthorized` was reworded/,
      { findings: 1, reaches: 3 },
    ],
    [
      'major',
      'a type that several operations answer',
      [['[draft, final]', '[draft, final, gone]']],
      /gained `gone`/,
      { findings: 1, reaches: 3 },
    ],
    [
      'major',
      'an error text that several give',
      [['Session expired', 'Session over']],
      /401 `Session expired` is no longer/,
      { reaches: 3 },
    ],
    [
      'major',
      'a message of a failed sign-in less',
      [[', late: Too late', '']],
      /`late` of .* is gone/,
      { given: [[created, `${created}      x-login-failures: { denied: Denied, late: Too late }\n`]], findings: 1 },
    ],
    [
      'minor',
      'a list of itself',
      [
        [
          '    Error:\n',
          '    Tree: { type: array, description: A tree., items: { $ref: "#/components/schemas/Tree" } }\n    Error:\n',
        ],
      ],
      /type `Tree` is new/,
      { findings: 1 },
    ],
    [
      'patch',
      'words of a parameter',
      [['Notes on a page.', 'How many notes.']],
      /`description` of `limit` was reworded/,
      { findings: 1 },
    ],
    [
      'patch',
      'a summary',
      [['summary: Create a note', 'summary: Store a note']],
      /`summary` of `POST \/notes` was reworded/,
      { findings: 1 },
    ],
    [
      'patch',
      'words about the contract',
      [['Keeps notes.', 'Keeps all notes.']],
      /`description` of `info` was reworded/,
      { findings: 1 },
    ],
    [
      'patch',
      'more to read',
      [['summary: Create a note', 'summary: Create a note\n      externalDocs: { url: https://notes.example/docs }']],
      /externalDocs/,
    ],
    [
      'major',
      'a list that may be shorter',
      [['maxItems: 9', 'maxItems: 5']],
      /`maxItems` of `tags` changed from `9` to `5`/,
      {
        given: [[id, `${id}        tags: { type: array, maxItems: 9, description: Tags., items: { type: string } }\n`]],
      },
    ],
    [
      'major',
      'a greater minimum of a request',
      [['minimum: 1,', 'minimum: 2,']],
      /`minimum` of `limit` changed from `1` to `2`/,
    ],
    [
      'minor',
      'a lower minimum of a request',
      [['minimum: 1,', 'minimum: 0,']],
      /`minimum` of `limit` changed from `1` to `0`/,
    ],
  ] satisfies Row[]
).map(toCase)

const codes = '{ stopping: { code: 1001 }, signedOut: { code: 4401, remedy: Sign in again. } }'
const withRemedy: Edit = ['{ stopping: { code: 1001 }, signedOut: { code: 4401 } }', codes]

/** Of the channel. */
export const channelTold: Case[] = (
  [
    [
      'major',
      'close codes swapped',
      [['stopping: { code: 1001 }, signedOut: { code: 4401 }', 'stopping: { code: 4401 }, signedOut: { code: 1001 }']],
      /`code` of `signedOut` changed from `4401` to `1001`/,
      { findings: 2 },
    ],
    ['major', 'a close code less', [['stopping: { code: 1001 }, ', '']], /`stopping` is gone/, { findings: 1 }],
    [
      'minor',
      'another remedy',
      [['Sign in again.', 'Connect again.']],
      /`remedy` of `signedOut` changed from `Sign in again.` to `Connect again.`/,
      { given: [withRemedy], findings: 1 },
    ],
    [
      'major',
      'another default content type',
      [['channels:\n', 'defaultContentType: text/plain\nchannels:\n']],
      /`defaultContentType` is new: `text\/plain`/,
      { findings: 1 },
    ],
    [
      'none',
      'the usual content type',
      [['channels:\n', 'defaultContentType: application/json\nchannels:\n']],
      undefined,
      { findings: 0 },
    ],
    [
      'major',
      'another content type of a message',
      [['      name: hello\n', '      name: hello\n      contentType: text/plain\n']],
      /`contentType` of `hello`/,
    ],
    ['major', 'another name of a message', [['      name: hello\n', '      name: welcome\n']], /`name` of `hello`/],
    ['patch', 'another title of a message', [['      title: Hello\n', '      title: Welcome\n']], /`title` of `hello`/],
    [
      'major',
      'a title of what a message holds',
      [['        description: Hello.\n', '        description: Hello.\n        title: Hello\n']],
      /class Hello/,
    ],
    ['major', 'a value of a message that clients do not know', [['enum: [hello]', 'enum: [hello, hi]']], /gained `hi`/],
    [
      'major',
      'fields of a message swapped',
      [
        ['          stamp: { type: integer, description: The newest stamp (Unix ms). }\n', ''],
        [
          '          type: { type: string, enum: [hello], description: Kind of message. }\n',
          '          stamp: { type: integer, description: The newest stamp (Unix ms). }\n          type: { type: string, enum: [hello], description: Kind of message. }\n',
        ],
      ],
      /another order/,
    ],
    [
      'major',
      'a shorter text that clients send',
      [
        [
          'maxLength: 1000, description: The text. }\n          place',
          'maxLength: 500, description: The text. }\n          place',
        ],
      ],
      /`maxLength` of `text`/,
    ],
    [
      'minor',
      'a longer text that clients send',
      [
        [
          'maxLength: 1000, description: The text. }\n          place',
          'maxLength: 5000, description: The text. }\n          place',
        ],
      ],
      /`maxLength` of `text`/,
    ],
    [
      'major',
      'a parameter of the upgrade less',
      [['            since: { type: integer, minimum: 0, description: A stamp (Unix ms). }\n', '            {}\n']],
      /`since` is no longer read/,
    ],
    [
      'minor',
      'a larger message',
      [['x-max-message-bytes: 65536', 'x-max-message-bytes: 131072']],
      /`x-max-message-bytes` of `live` changed/,
    ],
    ['none', 'a quoted key', [['asyncapi: 3.0.0', '"asyncapi": 3.0.0']], undefined, { findings: 0 }],
  ] satisfies Row[]
).map(toCase)

/** Of the workflows, whose names and inputs people write into commands. */
export const workflowsTold: Case[] = (
  [
    [
      'major',
      'a workflow less',
      [
        [
          '  - workflowId: status\n    summary: Whether it runs.\n    steps:\n      - stepId: ask\n        operationId: getStatus\n        successCriteria: [{ condition: $statusCode == 200 }]\n',
          '',
        ],
      ],
      /`status` is gone/,
      { findings: 1 },
    ],
    [
      'major',
      'a workflow under another name',
      [['workflowId: status', 'workflowId: health']],
      /`status` is now `health`/,
      { findings: 1 },
    ],
    [
      'major',
      'an input less',
      [
        ['required: [session]', 'required: []'],
        ['        session: { type: string, description: The cookie. }\n', '        {}\n'],
      ],
      /`session` is no longer read/,
    ],
    [
      'major',
      'an input that is demanded',
      [
        ['required: [session]', 'required: [session, note]'],
        [
          'description: The cookie. }\n',
          'description: The cookie. }\n        note: { type: string, description: A note. }\n',
        ],
      ],
      /required field `note` is new/,
    ],
    [
      'minor',
      'another input',
      [
        [
          'description: The cookie. }\n',
          'description: The cookie. }\n        note: { type: string, description: A note. }\n',
        ],
      ],
      /`note` is new/,
    ],
    [
      'minor',
      'another criterion',
      [['condition: $statusCode == 201', 'condition: $statusCode == 200']],
      /`\$statusCode == 201` is now `\$statusCode == 200`/,
      { findings: 1 },
    ],
    [
      'minor',
      'one more step',
      [['      - stepId: read\n', '      - { stepId: again, operationId: getStatus }\n      - stepId: read\n']],
      /`again` is new/,
    ],
    [
      'minor',
      'a step less',
      [
        [
          '      - stepId: read\n        operationId: getNote\n        parameters: [{ name: id, in: path, value: $steps.store.outputs.id }]\n        successCriteria: [{ condition: $statusCode == 200 }]\n',
          '',
        ],
      ],
      /`read` is gone/,
    ],
    [
      'minor',
      'another operation of a step',
      [['operationId: getStatus', 'operationId: getHealth']],
      /`operationId` of `ask` changed/,
      { findings: 1 },
    ],
    ['minor', 'another payload', [['text: Hi', 'text: Ho']], /`text` of `.*` changed from `Hi` to `Ho`/],
    [
      'minor',
      'another value of a parameter',
      [['value: $steps.store.outputs.id', 'value: $inputs.id']],
      /`value` of `id` changed/,
    ],
    ['minor', 'another document', [['url: ./openapi.yaml', 'url: ./other.yaml']], /`url` of `service` changed/],
    [
      'patch',
      'another summary',
      [['A note is stored and read.', 'A note is stored, and read again.']],
      /`summary` of `first` was reworded/,
      { findings: 1 },
    ],
    ['patch', 'another title', [['title: Notes, workflows', 'title: Workflows of notes']], /`title` of `info`/],
    [
      'none',
      'another form',
      [
        [
          '{ name: service, url: ./openapi.yaml, type: openapi }',
          '{ "type": openapi, name: service, url: ./openapi.yaml }',
        ],
        ['arazzo: 1.0.1', '"arazzo": 1.0.1'],
      ],
      undefined,
      { findings: 0 },
    ],
  ] satisfies Row[]
).map(toCase)
