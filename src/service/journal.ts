import { fstatSync } from 'node:fs'

/** Syslog levels by the first digit of pino's. journald reads them from the start of a line. */
const priorities = ['7', '7', '7', '6', '4', '3', '2']

/** True if systemd connected the descriptor to its journal, which JOURNAL_STREAM identifies. */
export function isJournal(descriptor: number): boolean {
  const stream = process.env.JOURNAL_STREAM
  if (!stream) return false
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return stream === `${dev}:${ino}`
}

/** A log line with its level in front. */
export function forJournal(line: string): string {
  return `<${priorities[Number(/^\{"level":(\d)/.exec(line)?.[1] ?? 3)]}>${line}`
}
