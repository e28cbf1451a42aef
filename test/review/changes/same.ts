import type { Case } from './case.ts'

const pathParameter = `    parameters:
      - name: id
        in: path
        required: true
        description: The note's id.
        schema: { type: string, maxLength: 64 }
`
const limit = 'schema: { type: integer, minimum: 1, maximum: 100, default: 20 }'
const device = `        - name: x-device-id
          in: header
          description: The device that asks.
          schema: { type: string, maxLength: 64 }
`
const place = `    Place:
      type: object
      description: Where it was written.
      properties:
        name: { type: string, description: The place's name. }
`

/** Other ways to write the same: no finding at all. */
export const sameDocuments: Case[] = (
  [
    ['a quoted key', [['openapi: 3.1.0', '"openapi": 3.1.0']]],
    ['quoted keys of operations', [['  /notes:\n    get:', '  "/notes":\n    "get":']]],
    ['a comment', [['paths:', '# All of them.\npaths:']]],
    ['another version', [['version: 1.4.2', 'version: 1.5.0']]],
    [
      'a text over several lines',
      [['description: The notes, newest first.', 'description: >-\n        The notes,\n        newest first.']],
    ],
    [
      'a text with lines of its own',
      [['description: The notes, newest first.', 'description: |\n        The notes,\n        newest first.']],
    ],
    [
      '`required: false` of a parameter',
      [['          in: query\n', '          in: query\n          required: false\n']],
    ],
    [
      'the usual style of a query',
      [['          in: query\n', '          in: query\n          style: form\n          explode: true\n']],
    ],
    [
      'the usual style of a header',
      [['          in: header\n', '          in: header\n          style: simple\n          explode: false\n']],
    ],
    ['the usual style of a path', [['        in: path\n', '        in: path\n        style: simple\n']]],
    [
      '`allowEmptyValue` and `allowReserved`',
      [
        [
          '          in: query\n',
          '          in: query\n          allowEmptyValue: false\n          allowReserved: false\n',
        ],
      ],
    ],
    [
      '`deprecated: false`',
      [['      operationId: listNotes\n', '      operationId: listNotes\n      deprecated: false\n']],
    ],
    [
      '`required: false` of a header',
      [
        [
          '              description: The author.\n',
          '              description: The author.\n              required: false\n',
        ],
      ],
    ],
    [
      '`required: false` of a body',
      [
        [
          '        description: The note.\n        content',
          '        required: false\n        description: The note.\n        content',
        ],
      ],
      [
        [
          '        required: true\n        description: The note.\n        content',
          '        description: The note.\n        content',
        ],
      ],
    ],
    [
      '`minLength: 0`',
      [
        [
          '{ type: string, maxLength: 1000, description: The text. }\n        colour',
          '{ type: string, minLength: 0, maxLength: 1000, description: The text. }\n        colour',
        ],
      ],
    ],
    [
      '`uniqueItems: false`',
      [['          type: array\n', '          type: array\n          uniqueItems: false\n          minItems: 0\n']],
    ],
    [
      '`readOnly` and `writeOnly: false`',
      [['author: { type: string,', 'author: { type: string, readOnly: false, writeOnly: false, deprecated: false,']],
    ],
    [
      '`additionalProperties: true`',
      [['    NewNote:\n      type: object\n', '    NewNote:\n      type: object\n      additionalProperties: true\n']],
    ],
    ['`required: []`', [['    Place:\n      type: object\n', '    Place:\n      type: object\n      required: []\n']]],
    ['no parameters', [['      operationId: createNote\n', '      operationId: createNote\n      parameters: []\n']]],
    [
      'the common limit of a body',
      [['      operationId: getStatus\n', '      operationId: getStatus\n      x-body-limit: 1048576\n']],
    ],
    [
      'the inherited security',
      [['      x-invalid: Invalid note\n', '      security: [{ session: [] }]\n      x-invalid: Invalid note\n']],
    ],
    [
      'a parameter of the path in the operation',
      [
        [pathParameter, ''],
        [
          '      x-not-found: Note not found\n',
          `      x-not-found: Note not found\n${pathParameter.replaceAll('\n  ', '\n    ').replace('    parameters', '      parameters')}`,
        ],
      ],
    ],
    [
      'a parameter as a component',
      [
        [device, '        - { $ref: "#/components/parameters/Device" }\n'],
        ['components:\n', `components:\n  parameters:\n    Device:\n${device.replace('        - ', '          ')}`],
      ],
    ],
    [
      'a response as a component',
      [
        [
          '        "409":\n          description: The id is in use.\n          content:\n            application/json:\n              schema: { $ref: "#/components/schemas/Error" }\n              examples:\n                NoteExists: { $ref: "#/components/examples/NoteExists" }\n',
          '        "409": { $ref: "#/components/responses/Used" }\n',
        ],
        [
          '  responses:\n    Unauthorized:',
          '  responses:\n    Used:\n      description: The id is in use.\n      content:\n        application/json:\n          schema: { $ref: "#/components/schemas/Error" }\n          examples:\n            NoteExists: { $ref: "#/components/examples/NoteExists" }\n    Unauthorized:',
        ],
      ],
    ],
    [
      'a body as a component',
      [
        [
          '      requestBody:\n        required: true\n        description: The note.\n        content:\n          application/json:\n            schema: { $ref: "#/components/schemas/NewNote" }\n',
          '      requestBody: { $ref: "#/components/requestBodies/New" }\n',
        ],
        [
          'components:\n',
          'components:\n  requestBodies:\n    New:\n      required: true\n      description: The note.\n      content: { application/json: { schema: { $ref: "#/components/schemas/NewNote" } } }\n',
        ],
      ],
    ],
    [
      'a header as a component',
      [
        [
          '            X-Total:\n              description: Notes in all.\n              required: true\n              schema: { type: integer }\n',
          '            X-Total: { $ref: "#/components/headers/Total" }\n',
        ],
        [
          'components:\n',
          'components:\n  headers:\n    Total: { description: Notes in all., required: true, schema: { type: integer } }\n',
        ],
      ],
    ],
    [
      'an anchor',
      [
        [
          'author: { type: string, description: Who wrote it. }',
          'author: &who { type: string, description: Who wrote it. }',
        ],
      ],
    ],
    ['`const` in place of one value', [['enum: [true] ', 'const: true ']]],
    ['`const` of a field', [['enum: [draft]', 'const: draft']], [['enum: [draft, final]', 'enum: [draft]']]],
    ['an enum without the type of its values', [['colour: { type: string, enum', 'colour: { enum']]],
    ['the order of `required`', [['[id, text, created_at, state]', '[state, created_at, text, id]']]],
    ['the order of an enum', [['[red, green, blue]', '[blue, red, green]']]],
    [
      'the order of a list of types',
      [['author: { type: [string, "null"]', 'author: { type: ["null", string]']],
      [['author: { type: string', 'author: { type: [string, "null"]']],
    ],
    ['a list of one type', [['author: { type: string,', 'author: { type: [string],']]],
    ['an exclusive minimum', [[limit, limit.replace('minimum: 1', 'exclusiveMinimum: 0')]]],
    ['an exclusive maximum', [[limit, limit.replace('maximum: 100', 'exclusiveMaximum: 101')]]],
    ['a number in another form', [[limit, limit.replace('maximum: 100', 'maximum: 1.0e+2')]]],
    [
      'allOf around a $ref',
      [['place: { $ref: "#/components/schemas/Place" }', 'place: { allOf: [{ $ref: "#/components/schemas/Place" }] }']],
    ],
    [
      'allOf that is merged',
      [
        [
          '    Place:\n      type: object\n      description: Where it was written.\n      properties:\n        name',
          '    Place:\n      allOf:\n        - type: object\n          properties:\n            name',
        ],
        [
          "description: The place's name. }\n",
          "description: The place's name. }\n      description: Where it was written.\n",
        ],
      ],
    ],
    [
      'allOf of two parts',
      [
        [
          '      required: [notes]\n      properties:\n        notes:\n          type: array\n          description: The notes.\n          items: { $ref: "#/components/schemas/Note" }\n',
          '      allOf:\n        - { type: object, required: [notes] }\n        - type: object\n          properties:\n            notes: { type: array, description: The notes., items: { $ref: "#/components/schemas/Note" } }\n',
        ],
      ],
    ],
    [
      'allOf of a component and more',
      [
        [
          "    Status:\n      type: object\n      description: The status.\n      required: [up]\n      properties:\n        name: { type: string, description: The place's name. }\n",
          '    Status:\n      description: The status.\n      allOf: [{ $ref: "#/components/schemas/Place" }]\n      required: [up]\n      properties:\n',
        ],
      ],
      [
        [
          '      required: [up]\n      properties:\n',
          "      required: [up]\n      properties:\n        name: { type: string, description: The place's name. }\n",
        ],
      ],
    ],
    [
      'the order of schemas',
      [
        [place, ''],
        ['    Status:\n', `${place}    Status:\n`],
      ],
    ],
    [
      'the order of responses',
      [
        ['        "401": { $ref: "#/components/responses/Unauthorized" }\n        "409"', '        "409"'],
        [
          'NoteExists: { $ref: "#/components/examples/NoteExists" }\n',
          'NoteExists: { $ref: "#/components/examples/NoteExists" }\n        "401": { $ref: "#/components/responses/Unauthorized" }\n',
        ],
      ],
    ],
    [
      'the order of keywords',
      [
        [
          '{ type: string, enum: [draft, final], description: How far it is. }',
          '{ description: How far it is., enum: [draft, final], type: string }',
        ],
      ],
    ],
    [
      'a text as a component of its own',
      [
        [
          "id: { type: string, maxLength: 64, description: The note's id. }",
          'id: { $ref: "#/components/schemas/Key", description: The note\'s id. }',
        ],
      ],
      [['    Error:\n', '    Key: { type: string, maxLength: 64, description: A key. }\n    Error:\n']],
    ],
    [
      'a list as a component of its own',
      [
        [
          '          type: array\n          description: The notes.\n          items: { $ref: "#/components/schemas/Note" }\n',
          '          $ref: "#/components/schemas/Notes"\n',
        ],
      ],
      [
        [
          '    Error:\n',
          '    Notes: { type: array, description: The notes., items: { $ref: "#/components/schemas/Note" } }\n    Error:\n',
        ],
      ],
    ],
    [
      'an object with the title that its type has',
      [
        [
          "place: { title: Place, type: object, description: Where it was written., properties: { name: { type: string, description: The place's name. } } }",
          'place: { $ref: "#/components/schemas/Place" }',
        ],
      ],
      [
        [
          'place: { $ref: "#/components/schemas/Place" }',
          "place: { title: Place, type: object, description: Where it was written., properties: { name: { type: string, description: The place's name. } } }",
        ],
      ],
    ],
  ] satisfies [string, Case['edits'], Case['edits']?][]
).map(([name, edits, given = []]) => ({ name, edits, given, verdict: 'none', findings: 0 }))
