import { readFileSync } from 'node:fs'

/** What a process holds (RSS), in bytes: now, and at its highest. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (field: string) => 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  return { now: read('VmRSS'), peak: read('VmHWM') }
}
