import type { Case } from './case.ts'

/** People read these. */
export const wordings: Case[] = [
  {
    name: 'a changed description',
    edits: [['The notes, newest first.', 'The notes, the newest first.']],
    verdict: 'patch',
    says: /`description` of `GET \/notes` was reworded/,
  },
  {
    name: 'a changed summary of a field',
    edits: [['description: How far it is.', 'description: Its state.']],
    verdict: 'patch',
    says: /`description` of `state` was reworded/,
  },
  {
    name: 'an example',
    edits: [['description: The text. }\n        created', 'description: The text., examples: [Hi] }\n        created']],
    verdict: 'patch',
    says: /examples of `text` changed/,
  },
  {
    name: 'an example that is an object',
    edits: [
      [
        'summary: Too long\n                  value: { error: Note is too long }',
        'summary: Too long\n                  value: { error: Note is too long, hint: Shorten it }',
      ],
    ],
    verdict: 'patch',
    says: /[Ee]xample/,
  },
  {
    name: 'a new tag',
    edits: [['servers:\n', '  - name: more\n    description: More.\nservers:\n']],
    verdict: 'patch',
    says: /`more` is new/,
  },
  {
    name: 'a component under another name',
    edits: [
      ['    Unauthorized:\n', '    NoSession:\n'],
      ['responses/Unauthorized" }\n    post:', 'responses/NoSession" }\n    post:'],
      ['responses/Unauthorized" }\n        "409"', 'responses/NoSession" }\n        "409"'],
      ['responses/Unauthorized" }\n  /status:', 'responses/NoSession" }\n  /status:'],
    ],
    verdict: 'none',
  },
]
