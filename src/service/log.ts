import { type DestinationStream, type Logger, pino } from 'pino'
import { forJournal, isJournal } from './journal.ts'

/** Other fields of an error may hold data: the database's `detail` of a duplicate key, for example, quotes the key. */
const err = pino.stdSerializers.wrapErrorSerializer(describe)

interface Described {
  type: string
  message: string
  stack: string
  code?: unknown
  aggregateErrors?: Described[]
}

/** Lines of JSON, with a level for journald where descriptor `to` leads there. docs/operating/monitoring.md lists their fields. */
export function openLog(level: string, destination: DestinationStream, to?: number): Logger {
  const isLevelled = to !== undefined && isJournal(to)
  return pino({ level, serializers: { err }, ...(isLevelled && { hooks: { streamWrite: forJournal } }) }, destination)
}

/** The message and the stack have those of the causes. */
function describe({ type, message, stack, code, aggregateErrors }: Described): Described {
  return { type, message, stack, code, ...(aggregateErrors && { aggregateErrors: aggregateErrors.map(describe) }) }
}
