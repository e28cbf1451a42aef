import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { bundleCache, bundleFolder } from '../../scripts/test/build.ts'

const ebs = fileURLToPath(new URL('ebs.mjs', bundleFolder))

export interface Command {
  /** How the command ended, and what it printed. */
  result: Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>
  kill(signal: NodeJS.Signals): void
}

/** Starts a command of `ebs`, as people run it, in a separate process, with only these environment variables. */
export function startCommand(t: Test, name: string, args: string[], env: Record<string, string>): Command {
  const child = spawn(process.execPath, [ebs, name, ...args], {
    env: { ...bundleCache, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = Promise.all([text(child.stdout), text(child.stderr)])
  const result = once(child, 'close').then(async ([code, signal]) => {
    const [stdout, stderr] = await printed
    return { code, signal, stdout, stderr }
  })
  t.teardown(() => child.kill('SIGKILL'))
  return { result, kill: (signal) => child.kill(signal) }
}

export function runCommand(...call: Parameters<typeof startCommand>): Command['result'] {
  return startCommand(...call).result
}
