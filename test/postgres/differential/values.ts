import fc from 'fast-check'
import { start } from './steps.ts'

const dayMs = 86_400_000
export const api = '/api/v1'

/** One of these, weighted by the numbers. */
export function mix<T>(...choices: [number, fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

/** Few, so that they collide. */
const common = fc.constantFrom('a', 'a', 'B', 'b~')
/** They reveal any order other than that of bytes. */
const ordered = fc.constantFrom('A', 'b', 'a-b', 'a_b', 'aB', 'ab', 'a b', '~', '_', '-', ' ', '9', '10')
const hostile = fc.constantFrom('%41', 'a/b', 'a?', '#', '"', "'", '\\', 'x'.repeat(128))
const made = fc.constantFrom('(2)', '(3)', '(4)', '(5)')
export const ids = mix([10, common], [2, ordered], [2, made], [1, hostile])
export const devices = mix([8, fc.constantFrom('laptop', 'Laptop', 'phone', 'unknown')], [1, ordered], [1, hostile])
export const eventIds = mix(
  [3, fc.constantFrom('e1', 'e2', 'E1', 'e~', 'e_', '(3)', '(5)')],
  [2, fc.constantFrom(...'fghijklm')],
)
const texts = fc.constantFrom('d1', 'd2', 'D1', "a'b", '\\', '"', '{}', 'null')
const hashes = fc.constantFrom('h1', 'h2', 'H1', 'h~')
const times = mix(
  [12, fc.integer({ min: start - 2, max: start + 3 })],
  [1, fc.constantFrom(0, start - dayMs, start + dayMs, start + dayMs + 1, Number.MAX_SAFE_INTEGER)],
)
/** Near those that a script's writes get. */
export const stamps = mix<unknown>(
  [4, fc.constant('(cursor)')],
  [4, fc.integer({ min: start - 1, max: start + 20 })],
  [1, fc.constantFrom(0, Number.MAX_SAFE_INTEGER)],
)
const seconds = mix<unknown>(
  [8, fc.integer({ min: start / 1000 - 2, max: start / 1000 + 1 })],
  [1, fc.constantFrom(0, start, -1, 1.5, '5', null, start / 1000 + 86_400, start / 1000 + 86_401)],
)

const strange = ['', 'é', 'a\0', '\ud800', '\u007f', 'x'.repeat(129), 'x'.repeat(262_145), '5']
/** Hardly any field accepts these; where one does, both sides must. */
const odd = fc.constantFrom<unknown>(...strange, null, -1, 1.5, 1e300, 2 ** 53, true, [], {})
export const some = (value: fc.Arbitrary<unknown>) => mix<unknown>([20, value], [1, odd])
/** The same in a URL. */
export const oddText = fc.constantFrom('', '0', '-1', '01', '1e2', ' 5', '1001', '9'.repeat(30), 'é', '%00', '%')
/** Whole bodies. */
export const oddPayload = fc.constantFrom('', 'null', '[]', '"x"', '{', '{}', '{"__proto__":{}}', '\ufeff{}', '{}x')

export const content = fc.record({ encrypted_data: texts, data_hash: hashes })

const required = ['id', 'entity_type', 'entity_id', 'operation', 'timestamp', 'device_id'] as const
const ofAnyChange = {
  id: eventIds,
  entity_type: mix([3, fc.constant('bookmark')], [2, fc.constantFrom('history', 'group')]),
  entity_id: ids,
  timestamp: times,
  device_id: devices,
  base: stamps,
  user_id: mix([9, fc.constant('(0)')], [1, fc.constantFrom('(1)', '')]),
}
const written = fc.record(
  {
    ...ofAnyChange,
    operation: fc.constantFrom('create', 'update'),
    encrypted_data: mix([40, texts], [1, fc.constant('x'.repeat(262_144))]),
    data_hash: hashes,
  },
  { requiredKeys: [...required, 'encrypted_data', 'data_hash'] },
)
const deleted = fc.record(
  { ...ofAnyChange, operation: fc.constant('delete'), encrypted_data: texts, data_hash: hashes },
  { requiredKeys: [...required] },
)
export const change = mix<object>([3, written], [1, deleted])

export const importBookmark = fc.record(
  {
    id: fc.oneof(common, ordered),
    encrypted_data: texts,
    data_hash: hashes,
    date_added: seconds,
    date_modified: seconds,
  },
  { requiredKeys: ['id', 'encrypted_data', 'data_hash'] },
)

/** The same with one field that is odd or missing. */
export function broken(element: fc.Arbitrary<object>): fc.Arbitrary<object> {
  return fc.tuple(element, fc.nat(), fc.option(odd, { nil: undefined })).map(([fields, index, value]) => {
    const names = Object.keys(fields)
    return { ...fields, [names[index % names.length] as string]: value }
  })
}
