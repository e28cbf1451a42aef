import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { memoryOf } from '../servers/memory.ts'

const everyMs = 100

/** Node raises its soft limit to the hard one, so both are set. */
export async function limitFiles(pid: number, files: number): Promise<void> {
  await promisify(execFile)('prlimit', ['--pid', `${pid}`, `--nofile=${files}:${files}`])
}

/** The process's memory (RSS) at its highest, from now on. A process that has ended keeps its last figure. */
export function watchMemory(pid: number): { bytesAboveStart(): number; stop(): void } {
  // Resets the peak that the kernel keeps.
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const idle = memoryOf(pid).now
  let peak = idle
  const timer = setInterval(() => {
    peak = Math.max(peak, peakOf(pid))
  }, everyMs)
  return { bytesAboveStart: () => peak - idle, stop: () => clearInterval(timer) }
}

/** Of a process that has ended, nothing can be read. */
function peakOf(pid: number): number {
  try {
    return memoryOf(pid).peak || 0
  } catch {
    return 0
  }
}
