/** Records what the service sends to Postgres, for test/postgres/sent.test.ts. */
import { resolve } from 'node:path'
import pg from 'pg'
import { isPostgres } from './database-url.ts'

interface Statement {
  text: string
  values: unknown[]
}

/** Statements by their form and by which of their lists have several items: a plan may depend on it. */
export type Statements = Map<string, Statement>

type Query = [query: string | Statement, values?: unknown[]]

const recordings = new Set<Statements>()
const root = resolve(import.meta.dirname, '../..')
const callers = /\/((?:src\/service|test|bench)\/[\w/.-]+)/g
/** Files that pass on what others send. */
const passingOn = /^src\/service\/db\/engine\/|^test\/support\/statements\.ts/

/** Records one statement of each form that this process sends from now on, except those of the tests themselves. */
export function recordStatements(): Statements {
  if (recordings.size === 0 && isPostgres) interceptQueries()
  const statements: Statements = new Map()
  recordings.add(statements)
  return statements
}

/** A statement's text without line breaks, numbers of parameters and lengths of lists. */
export function formOf(text: string): string {
  return text
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/\$\d+/g, '$')
    .replace(/\(\$(?:, \$)*\)/g, '($)')
    .replace(/\(\$\)(?:, \(\$\))+/g, '($)')
}

function interceptQueries(): void {
  const { query } = pg.Client.prototype
  const record = function (this: pg.Client, ...args: Query) {
    const { text, values } = typeof args[0] === 'string' ? { text: args[0], values: undefined } : args[0]
    if (/^\s*(select|insert|update|delete|with)\s/i.test(text)) add({ text, values: args[1] ?? values ?? [] })
    return Reflect.apply(query, this, args)
  }
  Object.assign(pg.Client.prototype, { query: record })
}

function add(statement: Statement): void {
  const lists = statement.values.map((value) => Number(Array.isArray(value) && value.length > 1))
  const key = `${formOf(statement.text)} ${lists.join('')}`
  const missing = [...recordings].filter((recording) => !recording.has(key))
  if (missing.length > 0 && !isOfTest()) for (const recording of missing) recording.set(key, statement)
}

/** True if a test sends the statement: of the callers that are known, it is the nearest. */
function isOfTest(): boolean {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 200
  const { stack = '' } = new Error('to know the callers')
  Error.stackTraceLimit = stackTraceLimit
  const nearest = [...stack.replaceAll(root, '').matchAll(callers)].find(([, file = '']) => !passingOn.test(file))
  return nearest !== undefined && !nearest[1]?.startsWith('src/')
}
