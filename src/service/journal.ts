import { fstatSync } from 'node:fs'

/** Levels of syslog, by the first digit of pino's. journald takes them from the beginning of a line. */
const priorities = ['7', '7', '7', '6', '4', '3', '2']

/** JOURNAL_STREAM names the file of the journal, as systemd opened it. */
export function isJournal(descriptor: number): boolean {
  const stream = process.env.JOURNAL_STREAM
  if (!stream) return false
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return stream === `${dev}:${ino}`
}

/** A line of the log, with the level before it. */
export function forJournal(line: string): string {
  return `<${priorities[Number(/^\{"level":(\d)/.exec(line)?.[1] ?? 3)]}>${line}`
}
