import { hostname } from 'node:os'
import { forJournal, isJournal } from './journal.ts'

/** The numbers of pino's levels. */
const levels = { warn: 40, fatal: 60 }

/** True in development, where people read the output. Elsewhere programs do, which expect only lines of JSON. */
export function isReadByPeople(): boolean {
  return (process.env.NODE_ENV?.trim() || 'development') === 'development'
}

/** Prints faults from before the log exists, Node's warnings, and errors that end the process. */
export function printFault(level: keyof typeof levels, fault: string | Error): void {
  if (isReadByPeople()) {
    console.error(fault)
    return
  }
  const about = typeof fault === 'string' ? { msg: fault } : { err: describe(fault), msg: fault.message }
  const line = { level: levels[level], time: Date.now(), pid: process.pid, hostname: hostname(), ...about }
  const text = `${JSON.stringify(line)}\n`
  process.stderr.write(isJournal(2) ? forJournal(text) : text)
}

/** Outside development, prints Node's warnings and fatal errors as JSON: Node itself would print text. */
export function printFaultsOfProcess(): void {
  if (isReadByPeople()) return
  process.removeAllListeners('warning')
  process.on('warning', (warning) => printFault('warn', warning))
  process.on('uncaughtException', (error) => {
    printFault('fatal', error)
    process.exit(1)
  })
}

function describe({ name, message, stack, cause }: Error): object {
  return { type: name, message, stack, ...(cause instanceof Error && { cause: describe(cause) }) }
}
