import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { generatedFiles } from '../../scripts/contract/generated.ts'
import { contract, type Edit, edited } from './contract.ts'

const generated = await generatedFiles(contract)

export interface Repository {
  root: URL
  path: string
  git(...args: string[]): string
  /** Writes the original file with these edits, without earlier ones. */
  edit(file: string, ...edits: Edit[]): void
  /** Writes generated/ from the contracts. */
  generate(): Promise<void>
  commit(message: string): string
}

/** A git repository with the contract of test/fixtures/contract/ in its first commit. */
export function repository(t: Test): Repository {
  const path = emptyFolder(t)
  const root = pathToFileURL(`${path}/`)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: path, encoding: 'utf8', env }).trim()
  const write = (files: Record<string, string>) => {
    for (const [file, content] of Object.entries(files)) writeFileSync(new URL(file, root), content)
  }
  const self: Repository = {
    root,
    path,
    git,
    edit(file, ...edits) {
      writeFileSync(new URL(file, root), edited(file, edits))
    },
    async generate() {
      write(await generatedFiles(root))
    },
    commit(message) {
      git('add', '--all')
      git('commit', '--quiet', '--message', message)
      return git('rev-parse', 'HEAD')
    },
  }
  mkdirSync(new URL('generated', root))
  git('init', '--quiet', '--initial-branch=main')
  for (const file of ['openapi.yaml', 'asyncapi.yaml']) copyFileSync(new URL(file, contract), new URL(file, root))
  write(generated)
  self.commit('The contract')
  return self
}

/** Excludes the person's own git settings, such as signing. */
const env = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
}

/** A folder outside of this repository, so that git finds no repository above it. */
export function emptyFolder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'ebs-review-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

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
