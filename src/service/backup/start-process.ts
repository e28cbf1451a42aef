import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isBundle } from '../bundle.ts'
import type { Made } from './make.ts'
import type { Order } from './process.ts'

const program = fileURLToPath(new URL(isBundle ? './backup-process.mjs' : './process.ts', import.meta.url))

/** A line for each export whose file is lost. */
const maxOutputBytes = 64 * 1024 * 1024

/** Makes a backup in another process. An abort kills that at once, and may leave the unfinished folder behind. */
export async function makeBackupApart(order: Order, signal: AbortSignal): Promise<Made> {
  const options = { env: {}, signal, killSignal: 'SIGKILL', maxBuffer: maxOutputBytes } as const
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [program, JSON.stringify(order)], options)
    return JSON.parse(stdout)
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string }
    throw new Error(stderr.trim() || message, { cause: error })
  }
}
