import { type DestinationStream, type Logger, pino } from 'pino'
import { forJournal, isJournal } from './journal.ts'

/** Logs only some fields of errors, because others may contain data: Postgres' `detail` quotes a duplicate key. */
const err = pino.stdSerializers.wrapErrorSerializer(describe)

interface Described {
  type: string
  message: string
  stack: string
  code?: unknown
  aggregateErrors?: Described[]
}

/** Logs lines of JSON, after a syslog level if descriptor `to` leads to journald. See docs/operating/monitoring.md. */
export function openLog(level: string, destination: DestinationStream, to?: number): Logger {
  const isLevelled = to !== undefined && isJournal(to)
  return pino({ level, serializers: { err }, ...(isLevelled && { hooks: { streamWrite: forJournal } }) }, destination)
}

/** The message and stack, including those of the causes. */
function describe({ type, message, stack, code, aggregateErrors }: Described): Described {
  return { type, message, stack, code, ...(aggregateErrors && { aggregateErrors: aggregateErrors.map(describe) }) }
}
