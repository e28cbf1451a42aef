/** A change, as code notices it that is written with the types of generated/client.ts. */
import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { bundled } from '../../scripts/contract/generated.ts'
import { type ClientChange, clientTypes, compareClients } from '../../scripts/contract/review/clients.ts'
import { contract, type Edit, edited } from './contract.ts'
import { emptyFolder } from './folder.ts'

const before = await clientTypes(await bundled(new URL('openapi.yaml', contract)))
const file = new URL('openapi.yaml', pathToFileURL(`${emptyFolder(t)}/`))

t.test('operations appear, vanish, change and are renamed', async (t) => {
  t.same(await changesOf(['operationId: listNotes', 'operationId: findNotes']), [
    { kind: 'operation', name: 'findNotes', happened: 'renamed', before: 'listNotes', call: 'GET /notes', details: [] },
  ])
  t.match(
    await changesOf([
      '  /status:\n    get:\n      operationId: getStatus',
      '  /up:\n    get:\n      operationId: isUp',
    ]),
    [
      { name: 'getStatus', happened: 'gone', call: 'GET /status' },
      { name: 'isUp', happened: 'new', call: 'GET /up' },
    ],
  )
  t.match(
    await changesOf(
      [
        '        - name: limit',
        '        - { name: q, in: query, description: Words., schema: { type: string } }\n        - name: limit',
      ],
      ['schema: { type: integer, minimum: 1, maximum: 100, default: 20 }', 'schema: { type: string }'],
    ),
    [
      {
        name: 'listNotes',
        happened: 'changed',
        call: 'GET /notes',
        details: [
          '`parameters.query.limit` changed from `optional number` to `optional string`',
          '`parameters.query.q` is new: `optional string`',
        ],
      },
    ],
  )
  t.match(await changesOf(['        "409":', '        "410":']), [
    { name: 'createNote', details: ['`responses.409` is gone', '`responses.410` is new'] },
  ])
})

t.test('a change of a shared answer is one of each operation that gives it', async (t) => {
  const changes = await changesOf([', Session expired]', ']'])
  t.same(
    changes.map(({ name }) => name),
    ['listNotes', 'createNote', 'getNote'],
  )
  t.match(changes[0]?.details, [
    '`responses.401.content.application/json.error` changed from `"Authentication required" | "Session expired"` to `"Authentication required"`',
  ])
})

t.test('types appear, vanish, change and are renamed, and tell which operations carry them', async (t) => {
  t.match(
    await changesOf([
      '        author:',
      '        length: { type: integer, description: Its length. }\n        author:',
    ]),
    [
      {
        kind: 'type',
        name: 'Note',
        happened: 'changed',
        carriers: ['listNotes', 'createNote', 'getNote'],
        details: ['`length` is new: `optional number`'],
      },
    ],
  )
  t.match(await changesOf(['name: { type: string', 'name: { type: number']), [
    { name: 'Place', carriers: ['listNotes', 'createNote', 'getNote'] },
  ])
  t.match(await changesOf(['    Plaintext:', '    Clear:']), [
    { name: 'Clear', happened: 'renamed', before: 'Plaintext', carriers: [] },
  ])
  t.match(
    await changesOf(
      ['    Plaintext:', '    Clear:'],
      ['{ type: string, description: The writer', '{ type: number, description: The writer'],
    ),
    [
      { name: 'Plaintext', happened: 'gone' },
      { name: 'Clear', happened: 'new' },
    ],
  )
  t.match(await changesOf(['created_at: { type: integer', 'created_at: { type: [integer, "null"]']), [
    { name: 'Note', details: ['`created_at` changed from `number` to `number | null`'] },
  ])
})

t.test('an additional error text is another one in the types of the answer', async (t) => {
  t.match(
    await changesOf([
      '                NoteExists: {',
      '                NoteDeleted: { $ref: "#/components/examples/NoteDeleted" }\n                NoteExists: {',
    ]),
    [
      {
        name: 'createNote',
        details: [
          '`responses.409.content.application/json.error` changed from `"Note already exists"` to `"Note was deleted" | "Note already exists"`',
        ],
      },
    ],
  )
})

t.test('words change nothing', async (t) => {
  t.same(await changesOf(['description: How far it is.', 'description: Its state.']), [])
})

async function changesOf(...edits: Edit[]): Promise<ClientChange[]> {
  writeFileSync(file, edited('openapi.yaml', edits))
  return compareClients(before, await clientTypes(await bundled(file)))
}
