import type { Case } from './case.ts'

/** The data of openapi.yaml: limits and cookies; and changes that only generators of clients notice. */
export const dataChanges: Case[] = [
  {
    name: 'a lower quota',
    edits: [['userBytes: 1000000', 'userBytes: 500000']],
    verdict: 'major',
    says: /`userBytes` changed from `1000000` to `500000`/,
  },
  {
    name: 'a higher limit',
    edits: [['notesPerPage: 100', 'notesPerPage: 200']],
    verdict: 'minor',
    says: /`notesPerPage` changed/,
  },
  {
    name: 'another attribute of the cookie',
    edits: [['sameSite: Lax', 'sameSite: Strict']],
    verdict: 'major',
    says: /`sameSite` of `session` changed from `Lax` to `Strict`/,
  },
  {
    name: 'a cookie that lives longer',
    edits: [['maxAge: 3600', 'maxAge: 7200']],
    verdict: 'minor',
    says: /`maxAge` of `session` changed/,
  },
  {
    name: 'an operation with another tag',
    edits: [['operationId: getStatus\n      tags: [notes]', 'operationId: getStatus\n      tags: [status]']],
    verdict: 'major',
    says: /first tag of `GET \/status` changed from `notes` to `status`/,
  },
  {
    name: 'an operation with one more tag',
    edits: [['operationId: getStatus\n      tags: [notes]', 'operationId: getStatus\n      tags: [notes, status]']],
    verdict: 'patch',
    says: /`tags` of `GET \/status`/,
  },
  {
    name: 'a field of a response that is writeOnly',
    edits: [['state: { type: string,', 'state: { writeOnly: true, type: string,']],
    verdict: 'major',
    says: /`writeOnly` of `state` is new/,
  },
  {
    name: 'allOf around one $ref',
    edits: [
      [
        'place: { $ref: "#/components/schemas/Place" }',
        'place: { description: Where., allOf: [{ $ref: "#/components/schemas/Place" }] }',
      ],
    ],
    verdict: 'patch',
    says: /./,
  },
]

/** The data of asyncapi.yaml. */
export const channelDataChanges: Case[] = [
  {
    name: 'another close code',
    edits: [['signedOut: { code: 4401 }', 'signedOut: { code: 4403 }']],
    verdict: 'major',
    says: /`code` of `signedOut` changed from `4401` to `4403`/,
  },
  {
    name: 'a new close code',
    edits: [['signedOut: { code: 4401 }', 'signedOut: { code: 4401 }, silent: { code: 4408 }']],
    verdict: 'minor',
    says: /`silent` is new/,
  },
  {
    name: 'a smaller message',
    edits: [['x-max-message-bytes: 65536', 'x-max-message-bytes: 1024']],
    verdict: 'major',
    says: /`x-max-message-bytes` of `live` changed from `65536` to `1024`/,
  },
]
