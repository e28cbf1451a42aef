import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../scripts/review.ts', import.meta.url))

export interface Printed {
  code: number | null
  stdout: string
  stderr: string
}

/** `npm run review` in a folder, outside of GitHub unless `env` says otherwise. */
export function runReview(cwd: string, args: string[] = [], env: Record<string, string> = {}): Printed {
  const { GITHUB_ACTIONS: _, ...own } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...own, ...env },
  })
  return { code: status, stdout, stderr }
}
