/** Runs in a thread of its own: a connection to a SQLite file that runs one statement after another, and answers each. */
import { parentPort, workerData } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { busyMs, configure, memoized } from './sqlite-connection.ts'

/** To be run once, or once for each of many parameters. */
export type Order = { sql: string; parameters: readonly unknown[] } | { sql: string; each: unknown[][] }
/** The rows, or the first row for each of the parameters. */
export type Answer = { rows: unknown[]; changes: number } | { message: string; code: string }

const path = workerData as string
const file = configure(new Sqlite(path, { fileMustExist: true, timeout: busyMs }), path)
// It is used once: each transaction of the other connection makes it invalid.
file.pragma('cache_size = -2048')
const connection = memoized(file)

parentPort?.on('message', (order: Order | 'close') => {
  if (order === 'close') {
    connection.close()
    process.exit()
  }
  parentPort?.postMessage(answer(order))
})

function answer(order: Order): Answer {
  try {
    return execute(order)
  } catch (error) {
    const { message, code = 'SQLITE_ERROR' } = error as Error & { code?: string }
    return { message, code }
  }
}

function execute(order: Order): Answer {
  const statement = connection.prepare(order.sql)
  const result = { rows: [] as unknown[], changes: 0 }
  if ('parameters' in order) {
    if (statement.reader) result.rows = statement.all(...order.parameters)
    else result.changes = statement.run(...order.parameters).changes
  } else if (statement.reader) result.rows = order.each.map((parameters) => statement.get(...parameters))
  else for (const parameters of order.each) statement.run(...parameters)
  return result
}
