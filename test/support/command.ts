import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { compileCache } from './compile-cache.ts'

export interface Command {
  /** How the command ended, and what it printed. */
  result: Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>
  kill(signal: NodeJS.Signals): void
}

/** Starts a command of src/service/commands/ in a separate process, with only these environment variables. */
export function startCommand(t: Test, name: string, args: string[], env: Record<string, string>): Command {
  const path = fileURLToPath(new URL(`../../src/service/commands/${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], {
    env: { ...compileCache, ...env },
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

export function runCommand(t: Test, name: string, args: string[], env: Record<string, string>): Command['result'] {
  return startCommand(t, name, args, env).result
}
