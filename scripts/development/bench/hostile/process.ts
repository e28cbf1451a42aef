import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'

const everyMs = 100

/** Node raises its soft limit to the hard one, so both are set. */
export async function limitFiles(pid: number, files: number): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', `${pid}`, `--nofile=${files}:${files}`])
}

/** The process's memory (RSS) at its highest, from now on. A process that has ended keeps its last figure. */
export function watchMemory(pid: number): { bytesAboveStart(): number; stop(): void } {
  // Resets the peak that the kernel keeps.
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const idle = read('VmRSS') ?? 0
  let peak = idle
  const timer = setInterval(() => {
    peak = Math.max(peak, read('VmHWM') ?? 0)
  }, everyMs)
  return { bytesAboveStart: () => peak - idle, stop: () => clearInterval(timer) }

  function read(field: string): number | undefined {
    try {
      const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(
        readFileSync(`/proc/${pid}/status`, 'utf8'),
      )?.[1]
      return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
    } catch {
      return undefined
    }
  }
}
