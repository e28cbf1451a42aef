import type { Case } from './case.ts'

/** Clients read these. */
export const responseChanges: Case[] = [
  {
    name: 'a removed field of a response',
    edits: [['        author: { type: string, description: Who wrote it. }\n', '']],
    verdict: 'major',
    says: /`author`.* was removed/,
  },
  {
    name: 'a field of a response that may be missing',
    edits: [['required: [id, text, created_at, state]', 'required: [id, text, created_at]']],
    verdict: 'major',
    says: /no longer required: `state`/,
  },
  {
    name: 'a value more in a response',
    edits: [['[draft, final]', '[draft, final, gone]']],
    verdict: 'major',
    says: /gained values: .gone./,
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
    says: /Type of `text` widened/,
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
    says: /maxLength.*'1000' to '2000'/,
  },
  { name: 'a changed status', edits: [['"201":', '"200":']], verdict: 'major', says: /Response `201` became `200`/ },
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
    says: /headers? of response `200` were removed|`X-Total` was removed/,
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
