import type { Case } from './case.ts'

/** Clients read these. */
export const responseChanges: Case[] = [
  {
    name: 'a removed field of a response',
    edits: [['        author: { type: string, description: Who wrote it. }\n', '']],
    verdict: 'major',
    says: /`author` is gone/,
  },
  {
    name: 'a field of a response that may be missing',
    edits: [['required: [id, text, created_at, state]', 'required: [id, text, created_at]']],
    verdict: 'major',
    says: /`Note` no longer requires `state`/,
  },
  {
    name: 'a value more in a response',
    edits: [['[draft, final]', '[draft, final, gone]']],
    verdict: 'major',
    says: /`state` gained `gone`/,
  },
  {
    name: 'a wider type of a response',
    edits: [
      [
        'text: { type: string, maxLength: 1000, description: The text. }\n        created',
        'text: { type: [string, "null"], maxLength: 1000, description: The text. }\n        created',
      ],
    ],
    verdict: 'major',
    says: /`type` of `text` gained `null`/,
  },
  {
    name: 'a loosened limit of a response',
    edits: [
      [
        'text: { type: string, maxLength: 1000, description: The text. }\n        created',
        'text: { type: string, maxLength: 2000, description: The text. }\n        created',
      ],
    ],
    verdict: 'major',
    says: /`maxLength` of `text` changed from `1000` to `2000`/,
  },
  { name: 'a changed status', edits: [['"201":', '"200":']], verdict: 'major', says: /`201` is now `200`/ },
  {
    name: 'a second success',
    edits: [['        "201":', '        "202": { description: Later. }\n        "201":']],
    verdict: 'major',
    says: /may now respond with 202/,
  },
  {
    name: 'a removed header',
    edits: [[totalHeader(), '']],
    verdict: 'major',
    says: /`headers` is gone/,
  },
  {
    name: 'a header that may be missing',
    edits: [['required: true\n              schema: { type: integer }', 'schema: { type: integer }']],
    verdict: 'major',
    says: /`X-Total` may be missing/,
  },
]

function totalHeader(): string {
  return `          headers:
            X-Total:
              description: Notes in all.
              required: true
              schema: { type: integer }
`
}
