import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cli = fileURLToPath(new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url))
/** It asks no other host. */
const quiet = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
const files = ['openapi.yaml', 'asyncapi.yaml']

/** A commit that changed the contract. */
export interface Change {
  commit: string
  /** ISO 8601. */
  date: string
  subject: string
  /** `info.version` of openapi.yaml after it. */
  version: string
  /** Changes by the version bump that they ask for; null for the commit that brought the contract. */
  counts: Counts | null
}

export type Counts = Record<'major' | 'minor' | 'patch', number>

/** The changes of the contract, newest first; null where there is no git, or not all of its history. */
export async function readHistory(root: URL): Promise<Change[] | null> {
  const git = async (...args: string[]) =>
    (await run('git', args, { cwd: fileURLToPath(root), maxBuffer: 2 ** 26 })).stdout
  const log = await git('log', '--format=%H%x09%cI%x09%s', '--', ...files).catch(() => '')
  if (log === '' || (await git('rev-parse', '--is-shallow-repository')).trim() === 'true') return null
  const commits = log
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t') as [string, string, string])
  const read = (commit: string, file: string) => git('show', `${commit}:${file}`).catch(() => null)
  const changes: Change[] = []
  for (const [index, [commit, date, subject]] of commits.entries()) {
    const parent = commits[index + 1]?.[0]
    const after = await read(commit, 'openapi.yaml')
    const [, version = '?'] = /^ {2}version: (\S+)$/m.exec(after ?? '') ?? []
    changes.push({ commit, date, subject, version, counts: parent ? await compare(root, read, parent, commit) : null })
  }
  return changes
}

type Read = (commit: string, file: string) => Promise<string | null>

/** What a commit changed never changes: it is kept beside the packages' own caches. */
async function compare(root: URL, read: Read, before: string, after: string): Promise<Counts> {
  const cache = new URL(`node_modules/.cache/contract-history/${before}-${after}.json`, root)
  const known = await readFile(cache, 'utf8').catch(() => null)
  if (known !== null) return JSON.parse(known) as Counts
  const counts = await diff(read, before, after)
  await mkdir(new URL('./', cache), { recursive: true })
  await writeFile(cache, JSON.stringify(counts))
  return counts
}

async function diff(read: Read, ...commits: [string, string]): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-history-'))
  const counts: Counts = { major: 0, minor: 0, patch: 0 }
  try {
    for (const [side, commit] of Object.entries({ before: commits[0], after: commits[1] })) {
      await mkdir(join(folder, side))
      for (const file of files) await writeFile(join(folder, side, file), (await read(commit, file)) ?? '')
    }
    for (const file of files) {
      const args = [cli, 'diff', `before/${file}`, `after/${file}`, '--format=json', '--fail-on=none']
      const { stdout } = await run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26, env: quiet })
      const { summary } = JSON.parse(stdout) as { summary: Counts }
      for (const impact of ['major', 'minor', 'patch'] as const) counts[impact] += summary[impact]
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return counts
}
