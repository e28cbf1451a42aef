import type { Case } from './case.ts'

/** Names, error texts, credentials. */
export const nameAndTextChanges: Case[] = [
  { name: 'a removed path', edits: [[statusPath(), '']], verdict: 'major', says: /`GET \/status` is gone/ },
  {
    name: 'a header parameter in another case',
    edits: [['name: x-device-id', 'name: X-Device-ID']],
    verdict: 'major',
    says: /`x-device-id` is now `X-Device-ID`/,
  },
  {
    name: 'a renamed operation',
    edits: [['operationId: listNotes', 'operationId: getNotes']],
    verdict: 'major',
    says: /`listNotes` to `getNotes`/,
  },
  {
    name: 'a renamed path parameter',
    edits: [
      ['/notes/{id}:', '/notes/{note}:'],
      ['name: id\n        in: path', 'name: note\n        in: path'],
    ],
    verdict: 'major',
    says: /parameter `id` is now `note`/,
  },
  { name: 'a removed type', edits: [[plaintext(), '']], verdict: 'major', says: /type `Plaintext` is gone/ },
  {
    name: 'a removed field of a type that no operation carries',
    edits: [["        mood: { type: string, description: The writer's mood. }\n", '']],
    verdict: 'major',
    says: /`mood` is gone/,
  },
  {
    name: 'a changed error text',
    edits: [['{ error: Note already exists }', '{ error: Note exists }']],
    verdict: 'major',
    says: /409 `Note already exists` is no longer/,
  },
  {
    name: 'an error text less',
    edits: [[', Session expired]', ']']],
    verdict: 'major',
    says: /401 `Session expired` is no longer/,
  },
  {
    name: 'a changed x-invalid',
    edits: [['x-invalid: Invalid note', 'x-invalid: Bad note']],
    verdict: 'major',
    says: /400 `Invalid note` is no longer/,
  },
  {
    name: 'a removed x-not-found',
    edits: [['      x-not-found: Note not found\n', '']],
    verdict: 'major',
    says: /404 `Note not found` is no longer/,
  },
  {
    name: 'an error text in an example alone',
    edits: [['Note is too long', 'Too long']],
    verdict: 'major',
    says: /400 `Note is too long` is no longer/,
  },
  {
    name: 'an operation that wants the session by itself',
    edits: [['      security: []\n', '      security: [{ session: [] }]\n']],
    verdict: 'major',
    says: /no credentials/,
  },
  {
    name: 'an operation that inherits the session',
    edits: [['      security: []\n', '']],
    verdict: 'major',
    says: /no credentials/,
  },
  {
    name: 'another cookie',
    edits: [['in: cookie, name: session,', 'in: cookie, name: sid,']],
    verdict: 'major',
    says: /`name` of `session` changed from `session` to `sid`/,
  },
  {
    name: 'a removed server',
    edits: [['https://notes.example', 'https://api.notes.example']],
    verdict: 'major',
    says: /`https:\/\/notes.example` is now/,
  },
]

function statusPath(): string {
  return `  /status:
    get:
      operationId: getStatus
      tags: [notes]
      summary: Status
      description: Whether it runs.
      security: []
      responses:
        "200":
          description: The status.
          content:
            application/json:
              schema: { $ref: "#/components/schemas/Status" }
`
}

function plaintext(): string {
  return `    Plaintext:
      type: object
      description: A note in the clear; exists on the client alone.
      required: [text]
      properties:
        text: { type: string, description: The text. }
        mood: { type: string, description: The writer's mood. }
`
}
