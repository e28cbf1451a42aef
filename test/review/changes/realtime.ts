import type { Case } from './case.ts'

/** The channel. */
export const realtimeChanges: Case[] = [
  {
    name: 'a message less',
    edits: [['      - $ref: "#/channels/live/messages/note"\n', '']],
    verdict: 'major',
    says: /message `note` is gone/,
  },
  {
    name: 'a field of a message less',
    edits: [
      ['          stamp: { type: integer, description: The newest stamp (Unix ms). }\n', ''],
      ['[type, stamp]', '[type]'],
    ],
    verdict: 'major',
    says: /`stamp` is gone/,
  },
  {
    name: 'a field less that clients send',
    edits: [['          place: { type: string, maxLength: 64, description: Where it is written. }\n', '']],
    verdict: 'major',
    says: /`place` is no longer read/,
  },
  {
    name: 'a channel that now requires credentials',
    edits: [
      [
        '    summary: Drafts.\n',
        '    security:\n      - $ref: "#/components/securitySchemes/session"\n    summary: Drafts.\n',
      ],
    ],
    verdict: 'major',
    says: /No longer sufficient: no credentials/,
  },
  {
    name: 'another cookie for the channel',
    edits: [['name: session', 'name: sid']],
    verdict: 'major',
    says: /`name` of `session`/,
  },
  {
    name: 'another method of the upgrade',
    edits: [['method: GET', 'method: POST']],
    verdict: 'major',
    says: /`method` of `ws` changed from `GET` to `POST`/,
  },
  {
    name: 'an operation on another channel',
    edits: [
      [
        '    channel: { $ref: "#/channels/live" }\n    messages:\n      - $ref: "#/channels/live/messages/draft"',
        '    channel: { $ref: "#/channels/drafts" }\n    messages:\n      - $ref: "#/channels/drafts/messages/draft"',
      ],
      [
        'operations:\n',
        '  drafts:\n    address: /drafts\n    messages:\n      draft: { $ref: "#/components/messages/draft" }\noperations:\n',
      ],
    ],
    verdict: 'major',
    says: /`channel` of `receiveDrafts`/,
  },
  {
    name: 'another address of the channel',
    edits: [['address: /live', 'address: /socket']],
    verdict: 'major',
    says: /address/,
  },
  {
    name: 'a new message',
    edits: [
      [
        '      - $ref: "#/channels/live/messages/note"\n',
        '      - $ref: "#/channels/live/messages/note"\n      - $ref: "#/channels/live/messages/bye"\n',
      ],
      ['      draft: { $ref', '      bye: { $ref: "#/components/messages/bye" }\n      draft: { $ref'],
      [
        '    draft:\n      name',
        '    bye:\n      name: bye\n      title: Bye\n      payload: { type: object, description: Bye. }\n    draft:\n      name',
      ],
    ],
    verdict: 'minor',
    says: /`bye` is new/,
  },
  {
    name: 'a new field of a message',
    edits: [
      ['(Unix ms). }\n    note:', '(Unix ms). }\n          motd: { type: string, description: A word. }\n    note:'],
    ],
    verdict: 'minor',
    says: /`motd` is new/,
  },
  {
    name: 'a changed summary of a message',
    edits: [['summary: The first message.', 'summary: The very first message.']],
    verdict: 'patch',
    says: /`summary` of `hello`/,
  },
  {
    name: 'a header of the upgrade in another case',
    edits: [['x-device-id: {', 'X-Device-ID: {']],
    verdict: 'minor',
    says: /`x-device-id` is now `X-Device-ID`/,
  },
  {
    name: 'another header of the upgrade',
    edits: [['x-device-id: {', 'x-device: {']],
    verdict: 'major',
    says: /`x-device-id` is now `x-device`/,
  },
]
