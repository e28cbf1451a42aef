import type { Edit } from '../contract.ts'
import type { Case } from './case.ts'

const path = (name: string, id: string) => `  /${name}:
    get:
      operationId: ${id}
      summary: More
      description: More.
      security: []
      responses:
        "200": { description: Yes. }
`

const optional = `
        - name: q
          in: query
          description: More.
          schema: { type: string, maxLength: 8 }`

export const anotherText: Edit = [
  '                NoteExists: {',
  '                NoteDeleted: { $ref: "#/components/examples/NoteDeleted" }\n                NoteExists: {',
]

/** Programs see these, and no existing client notices. */
export const additions: Case[] = [
  {
    name: 'a new path',
    edits: [['  /status:\n', `${path('version', 'getVersion')}  /status:\n`]],
    verdict: 'minor',
    says: /version.*is new/,
  },
  {
    name: 'a new parameter that may be left out',
    edits: [
      [
        '\n          schema: { type: string, maxLength: 64 }\n      responses',
        `\n          schema: { type: string, maxLength: 64 }${optional}\n      responses`,
      ],
    ],
    verdict: 'minor',
    says: /`q` is new/,
  },
  {
    name: 'a new field of a response',
    edits: [['Place" }\n', 'Place" }\n        length: { type: integer, description: Its length. }\n']],
    verdict: 'minor',
    says: /`length` is new/,
  },
  {
    name: 'a new field of a request',
    edits: [['      if:', '        size: { type: integer, description: Its size. }\n      if:']],
    verdict: 'minor',
    says: /`size` is new/,
  },
  {
    name: 'a wider enum of a request',
    edits: [['[red, green, blue]', '[red, green, blue, black]']],
    verdict: 'minor',
    says: /gained `black`/,
  },
  {
    name: 'a wider type of a request',
    edits: [['pinned: { type: boolean,', 'pinned: { type: [boolean, "null"],']],
    verdict: 'minor',
    says: /`type` of `pinned`/,
  },
  {
    name: 'a loosened limit of a request',
    edits: [['id: { type: string, maxLength: 64,', 'id: { type: string, maxLength: 128,']],
    verdict: 'minor',
    says: /`maxLength` of `id` changed from `64` to `128`/,
  },
  {
    name: 'a tightened limit of a response',
    edits: [
      [
        'text: { type: string, maxLength: 1000, description: The text. }\n        created',
        'text: { type: string, maxLength: 500, description: The text. }\n        created',
      ],
    ],
    verdict: 'minor',
    says: /`maxLength` of `text`/,
  },
  { name: 'a larger body', edits: [['2097152', '4194304']], verdict: 'minor', says: /x-body-limit/ },
  {
    name: 'a field that a request may leave out',
    edits: [['required: [text]\n      properties:\n        id:', 'properties:\n        id:']],
    verdict: 'minor',
    says: /`NewNote` no longer requires `text`/,
  },
  {
    name: 'a field that is always in a response',
    edits: [['created_at, state]', 'created_at, state, author]']],
    verdict: 'minor',
    says: /`Note` now requires `author`/,
  },
  {
    name: 'an error more',
    edits: [anotherText],
    verdict: 'minor',
    says: /409 `Note was deleted` is new/,
  },
  {
    name: 'an error status more',
    edits: [['        "409":', '        "413": { $ref: "#/components/responses/Unauthorized" }\n        "409":']],
    verdict: 'minor',
    says: /response `413` is new/,
  },
  {
    name: 'an operation that is open to all',
    edits: [['      x-not-found: Note not found\n', '      x-not-found: Note not found\n      security: []\n']],
    verdict: 'minor',
    says: /sufficient, too: `no credentials`/,
  },
  {
    name: 'a deprecated operation',
    edits: [['      summary: Create a note\n', '      deprecated: true\n      summary: Create a note\n']],
    verdict: 'minor',
    says: /deprecated/,
  },
  {
    name: 'a new type',
    edits: [['    Status:\n', '    Extra:\n      type: object\n      description: More.\n    Status:\n']],
    verdict: 'minor',
    says: /type `Extra` is new/,
  },
]
