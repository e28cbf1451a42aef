import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import type { Answer, Order } from './write-thread.ts'

const isBundle = import.meta.filename.endsWith('.mjs')
const program = new URL(isBundle ? './write-thread.mjs' : './write-thread.ts', import.meta.url)
/** It holds a part of one request's rows at a time. */
const resourceLimits = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 128 }
/** One that ends again so soon will not get better by being started again. */
const soonMs = 60_000

/** A connection to the file of a database that does not hold the event loop, but costs more for each statement. */
export interface DatabaseThread {
  /** Statements run in the order in which they were asked for. */
  run(order: Order): Promise<Result>
}

type Result = Exclude<Answer, { code: string }>

export interface DatabaseThreads {
  /** Starts one if none is running. A transaction stays with its own: if that ends, so does the transaction. */
  current(): DatabaseThread
  close(): Promise<void>
}

export function openThreads(path: string): DatabaseThreads {
  let thread: (DatabaseThread & { close(): Promise<void> }) | undefined
  let lastEnd = Number.NEGATIVE_INFINITY

  function start() {
    const worker = new Worker(program, { workerData: path, execArgv: [], resourceLimits })
    const waiting: PromiseWithResolvers<Result>[] = []
    let cause: Error | undefined
    let end: Error | undefined
    worker.on('message', (answer: Answer) => {
      const asked = waiting.shift()
      if ('code' in answer) asked?.reject(new Sqlite.SqliteError(answer.message, answer.code))
      else asked?.resolve(answer)
    })
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      end = ended(cause)
      thread = undefined
      for (const { reject } of waiting.splice(0)) reject(end)
    })
    return {
      async run(order: Order) {
        if (end) throw end
        const asked = Promise.withResolvers<Result>()
        waiting.push(asked)
        worker.postMessage(order)
        return asked.promise
      },
      async close() {
        const exited = once(worker, 'exit')
        worker.postMessage('close')
        await exited
      },
    }
  }

  /** The first time, the next request may well succeed. From the second on, the database is in trouble. */
  function ended(cause: unknown): Error {
    const isAgain = performance.now() - lastEnd < soonMs
    lastEnd = performance.now()
    const error = new Sqlite.SqliteError(
      'the thread of large writes has ended',
      isAgain ? 'SQLITE_IOERR' : 'SQLITE_INTERRUPT',
    )
    return Object.assign(error, { cause })
  }

  return {
    current() {
      try {
        thread ??= start()
        return thread
      } catch (cause) {
        throw ended(cause)
      }
    },
    async close() {
      await thread?.close()
    },
  }
}
