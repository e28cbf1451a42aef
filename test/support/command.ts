import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { bundleFolder } from '../../scripts/test/build.ts'
import { run } from './service.ts'

const entry = fileURLToPath(new URL('ebs.mjs', bundleFolder))

export interface Command {
  /** How the command ended, and what it printed. */
  result: Promise<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>
  kill(signal: NodeJS.Signals): void
}

/** Starts a command of `ebs`, as people run it, in a separate process, with these environment variables. */
export function startCommand(t: Test, name: string, args: string[], env: Record<string, string>): Command {
  const { exited, stdout, stderr, kill } = run(t, env, { entry, args: [name, ...args] })
  return { result: exited.then((exit) => ({ ...exit, stdout: stdout(), stderr: stderr() })), kill }
}

export function runCommand(...call: Parameters<typeof startCommand>): Command['result'] {
  return startCommand(...call).result
}
