import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { generatedFiles } from '../../scripts/contract/generated.ts'
import { emptyFolder } from './folder.ts'

const fixture = new URL('../fixtures/contract/', import.meta.url)

/** Text that is there, and what it becomes. */
export type Edit = [from: string, to: string]

export interface Repository {
  root: URL
  path: string
  git(...args: string[]): string
  /** What the file was at first, edited; nothing of an edit before stays. */
  edit(file: string, ...edits: Edit[]): void
  restore(): void
  /** Writes generated/ as it follows from the contracts. */
  generate(): Promise<void>
  commit(message: string): string
}

/** A git repository with the contract of test/fixtures/contract/ in its first commit. */
export async function repository(t: Test): Promise<Repository> {
  const path = emptyFolder(t)
  const root = pathToFileURL(`${path}/`)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: path, encoding: 'utf8', env }).trim()
  const restore = () => {
    for (const file of ['openapi.yaml', 'asyncapi.yaml']) copyFileSync(new URL(file, fixture), new URL(file, root))
  }
  const self: Repository = {
    root,
    path,
    git,
    edit(file, ...edits) {
      const original = readFileSync(new URL(file, fixture), 'utf8')
      const edited = edits.reduce((text, [from, to]) => {
        if (!text.includes(from)) throw new Error(`${file} does not hold: ${from}`)
        return text.replace(from, () => to)
      }, original)
      writeFileSync(new URL(file, root), edited)
    },
    restore,
    async generate() {
      mkdirSync(new URL('generated', root), { recursive: true })
      for (const [file, content] of Object.entries(await generatedFiles(root)))
        writeFileSync(new URL(file, root), content)
    },
    commit(message) {
      git('add', '--all')
      git('commit', '--quiet', '--message', message)
      return git('rev-parse', 'HEAD')
    },
  }
  git('init', '--quiet', '--initial-branch=main')
  restore()
  await self.generate()
  self.commit('The contract')
  return self
}

/** Nothing of the person's own settings, such as signing. */
const env = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
}
