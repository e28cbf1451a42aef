import { readFileSync } from 'node:fs'
import t from 'tap'
import { createShapeCheck } from '../../src/service/http/json.ts'
import { snapshot } from '../support/database.ts'
import { nothing, openForUploads } from './uploads.ts'

const json = { 'content-type': 'application/json' }
const [push, bulkImport] = ['/api/v1/sync/push', '/api/v1/sync/import']
/** What the operations take, in tokens, and their answer to more. */
const limits = [
  { path: push, most: 600_000, start: '{"changes":[]', error: 'Invalid changes format' },
  { path: bulkImport, most: 600_000, start: '{"bookmarks":[]', error: 'Invalid bookmarks format' },
  { path: '/api/v1/sync/pull', most: 100_000, start: '{"since":0', error: 'body must have at most 100000 JSON tokens' },
]

/** A body with an unknown array, and so many tokens. */
function withTokens(start: string, tokens: number): string {
  const before = `${start},"unknown":[0`
  const rest = tokens - [...before.matchAll(/[[{,:]|"\w+"/g)].length
  return `${before}${',0'.repeat(rest)}]}`
}

t.test('The guide to limits names these numbers', async (t) => {
  const guide = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')
  const [, named = ''] = /^\| JSON tokens of a body.*\| (.*) \| 400 \|$/m.exec(guide) ?? []
  const [ofPush, ofImport, ofOthers] = limits.map(({ most }) => most.toLocaleString('en'))
  t.equal(ofImport, ofPush)
  t.equal(named, `${ofOthers}; of a push or an import ${ofPush}`)
})

t.test('A body has as many tokens as its operation could use, and no more', async (t) => {
  const { context, user } = await openForUploads(t)
  const ada = await user('ada')
  const before = await snapshot(context)
  for (const { path, most, start, error } of limits) {
    const send = (tokens: number) =>
      ada.call('POST', path, { headers: json, payload: Buffer.from(withTokens(start, tokens)) })
    const refused = await send(most + 1)
    t.same([refused.status, refused.body], [400, { error }], path)
    t.equal(await snapshot(context), before, 'nothing changed')
    t.equal((await send(most)).status, 200, path)
  }
})

t.test('A body that cannot be valid is refused while it arrives, and the rest is read', async (t) => {
  const { user, bodies, begin, send, abort } = await openForUploads(t)
  const ada = await user('ada')
  for (const [path, start, error] of [
    [push, `{"changes":[${'{},'.repeat(350_000)}`, 'Invalid changes format'],
    [push, '['.repeat(700_000), 'Invalid changes format'],
    [bulkImport, `{"bookmarks":[${'{"id":"x"},'.repeat(200_000)}`, 'Invalid bookmarks format'],
  ] as const) {
    const upload = await begin({ path, cookie: ada.cookie })
    upload.write(start)
    const { status, body } = await upload.answer
    t.same([status, body], [400, { error }], start.slice(0, 20))
    upload.send(1024 * 1024)
    upload.end(nothing)
    await abort([])
    t.equal(bodies.held(), 0)
  }
  t.equal(await send(ada, 100), 200)
})

t.test('However a body is cut into chunks, what stands in strings is no token', (t) => {
  const strings = ['', '{[,:]}', '\\', '\\\\', '"', '\\"', '"\\', '\n\u2028', 'ä€😀', '\\u0022'].map((text) =>
    JSON.stringify({ [text]: text }),
  )
  const text = `{"strings":[${strings}]}`
  const tokens = 4 + strings.length * 5 - 1
  const full = Buffer.from(`[${text}${',0'.repeat(1024 - tokens - 1)}]`)
  const tooMuch = Buffer.from(`[${text}${',0'.repeat(1024 - tokens)}]`)
  const faults = (body: Buffer, size: number) => {
    const check = createShapeCheck(1024, body.length)
    const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
      body.subarray(index * size, (index + 1) * size),
    )
    return chunks.map(check).find((fault) => fault !== undefined)
  }
  const sizes = Array.from({ length: 300 }, (_, index) => index + 1)
  t.same(new Set(sizes.map((size) => faults(full, size))), new Set([undefined]))
  t.same(new Set(sizes.map((size) => faults(tooMuch, size))), new Set(['must have at most 1024 JSON tokens']))
  t.end()
})
