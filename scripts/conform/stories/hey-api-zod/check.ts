/** Checks docs/languages.md: hey-api's zod schemas ignore `if` and `then`, and turn whole numbers into BigInt. */
import assert from 'node:assert/strict'
import { zChange } from './client/zod.gen'

const change = { id: 'e', entity_type: 'bookmark', entity_id: 'b', operation: 'create', timestamp: 1, device_id: 'd' }
assert.equal(typeof zChange.parse(change).timestamp, 'bigint')
assert.ok(!zChange.safeParse({ ...change, operation: 'none' }).success)
