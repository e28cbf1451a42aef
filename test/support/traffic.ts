import { appendFileSync, globSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A request for an operation, and its response. */
export interface Exchange {
  kind: 'exchange'
  operationId: string
  status: number
  headers: Record<string, string | string[] | number | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: as it came
  body?: any
  /** The size of the response's body, in bytes. */
  length: number
  /** The request's body if it is JSON. */
  sent?: unknown
}

/** A message of the realtime channel, sent by the server, or by a client and `taken` by the server. */
export interface Message {
  kind: 'message' | 'taken'
  message: { type: string }
}

/** Decrypted data, which only a client can read. */
export interface Opened {
  kind: 'opened'
  schema: 'OpenedExport'
  value: object
}

export type Traffic = Exchange | Message | Opened

/** The number of items that show what an array contains. */
const ARRAY_ITEMS = 3
/** The depth to compare, deeper than anything in the contract. */
const LEVELS = 8
/** The size above which an exchange is shortened, in characters of JSON. */
const LARGE = 10_000

const folder = process.env.TEST_TRAFFIC
const seen = new Set<string>()
if (folder) mkdirSync(folder, { recursive: true })

/** Records traffic, one of each shape, in the folder TEST_TRAFFIC, which `npm test` reads after all tests. */
export function recordTraffic(traffic: Traffic): void {
  if (!folder) return
  const shape = shapeOf(traffic)
  if (seen.has(shape)) return
  seen.add(shape)
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(shortened(traffic))}\n`)
}

/** Reads the recorded traffic, one of each shape. */
export function readTraffic(from: string): Traffic[] {
  const lines = globSync(join(from, '*.jsonl')).flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  const all = lines.filter(Boolean).map((line) => JSON.parse(line) as Traffic)
  return [...new Map(all.map((traffic) => [shapeOf(traffic), traffic])).values()]
}

/** The shape of traffic: its fields, kinds of values and error texts. Equal shapes show the same parts of the contract. */
function shapeOf(traffic: Traffic): string {
  if (traffic.kind === 'opened') return JSON.stringify([traffic.kind, traffic.schema, fieldsOf(traffic.value)])
  if (traffic.kind !== 'exchange') {
    return JSON.stringify([traffic.kind, traffic.message.type, fieldsOf(traffic.message)])
  }
  const { operationId, status, headers, body, sent } = traffic
  return JSON.stringify([operationId, status, Object.keys(headers).sort(), fieldsOf(body), body?.error, fieldsOf(sent)])
}

function fieldsOf(value: unknown, levels = LEVELS): unknown {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  if (levels === 0) return 'nested'
  if (Array.isArray(value))
    return [...new Set(value.slice(0, ARRAY_ITEMS).map((item) => JSON.stringify(fieldsOf(item, levels - 1))))]
  return Object.entries(value).map(([name, field]) => [name, fieldsOf(field, levels - 1)])
}

/** Drops items of a large response, and its request's body, which might not match the response with fewer items. */
function shortened(traffic: Traffic): Traffic {
  if (traffic.kind !== 'exchange') return traffic
  const { sent, body, ...exchange } = traffic
  return JSON.stringify([sent, body]).length <= LARGE ? traffic : { ...exchange, body: withFewItems(body) }
}

function withFewItems(body: unknown): unknown {
  if (body === undefined) return undefined
  return JSON.parse(JSON.stringify(body, (_key, value) => (Array.isArray(value) ? value.slice(0, ARRAY_ITEMS) : value)))
}
