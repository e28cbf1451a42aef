import type { Case } from './case.ts'

const required = (name: string, value: boolean) => `
        - name: ${name}
          in: query
          required: ${value}
          description: More.
          schema: { type: string, maxLength: 8 }
        - name: x-device-id`

/** Clients send these. */
export const requestChanges: Case[] = [
  {
    name: 'a field that a request must have',
    edits: [
      ['required: [text]\n      properties:\n        id:', 'required: [text, colour]\n      properties:\n        id:'],
    ],
    verdict: 'major',
    says: /`NewNote` now requires `colour`/,
  },
  {
    name: 'a field that is no longer read',
    edits: [['        pinned: { type: boolean, description: Whether it is pinned. }\n', '']],
    verdict: 'major',
    says: /`pinned` is no longer read/,
  },
  {
    name: 'a narrowed enum of a request',
    edits: [['[red, green, blue]', '[red, green]']],
    verdict: 'major',
    says: /`colour` lost `blue`/,
  },
  {
    name: 'a tightened limit of a request',
    edits: [['id: { type: string, maxLength: 64,', 'id: { type: string, maxLength: 32,']],
    verdict: 'major',
    says: /`maxLength` of `id` changed from `64` to `32`/,
  },
  {
    name: 'another default',
    edits: [['default: 20', 'default: 10']],
    verdict: 'major',
    says: /default of `limit` changed from `20` to `10`/,
  },
  { name: 'a body smaller than its fields', edits: [['2097152', '2048']], verdict: 'major', says: /2048 bytes/ },
  {
    name: 'a smaller body that all fields fit',
    edits: [['2097152', '1048576']],
    verdict: 'minor',
    says: /x-body-limit/,
  },
  {
    name: 'a new parameter that is demanded',
    edits: [['\n        - name: x-device-id', required('q', true)]],
    verdict: 'major',
    says: /required parameter `q` is new/,
  },
  {
    name: 'a removed parameter',
    edits: [[deviceParameter(), '']],
    verdict: 'major',
    says: /parameter `x-device-id` is gone/,
  },
  {
    name: 'a body that is now required',
    edits: [
      [
        '      x-not-found: Note not found\n',
        '      requestBody:\n        required: true\n        content: { application/json: { schema: { type: object } } }\n      x-not-found: Note not found\n',
      ],
    ],
    verdict: 'major',
    says: /body is now required/,
  },
  {
    name: 'a condition that holds more often',
    edits: [['pinned: { enum: [true] }', 'pinned: { enum: [true, false] }']],
    verdict: 'major',
    says: /A condition changed/,
  },
]

function deviceParameter(): string {
  return `        - name: x-device-id
          in: header
          description: The device that asks.
          schema: { type: string, maxLength: 64 }
`
}
