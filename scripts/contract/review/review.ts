import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { staleFiles } from '../generated.ts'
import { checkOut, type Git, gitIn } from '../git.ts'
import { findBase } from './base.ts'
import { type Comparison, compareContracts } from './compare.ts'

export interface Review extends Comparison {
  /** The name of the base to print. */
  base: string
  /** Files of generated/ that do not match the contracts. */
  stale: string[]
  /** The files of the review and of the lint that differ from the base, if that has some. */
  rules: string[]
}

/** Compares the contracts in the folder `root`, committed or not, with those of a commit. */
export async function review(root: URL, ref?: string): Promise<Review> {
  const { commit, name } = await findBase(root, ref)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'contract-base-'))
  const base = pathToFileURL(`${folder.path}/`)
  const git = gitIn(root)
  if (commit) await checkOut(git, commit, base)
  return {
    base: name,
    ...(await compareContracts(base, root)),
    rules: commit ? await changedRules(git, commit) : [],
    stale: await staleFiles(root).catch((error: Error) => [`all files, which cannot be generated (${error.message})`]),
  }
}

async function changedRules(git: Git, commit: string): Promise<string[]> {
  const rules = 'scripts/contract'
  if (!(await git('ls-tree', '--name-only', commit, `${rules}/review/`))) return []
  const names = await git('diff', '--name-only', '-z', '--relative', commit, '--', rules, 'redocly.yaml')
  return names?.split('\0').filter(Boolean) ?? []
}

/** True if it must not be merged: a breaking change without a major version, or stale generated files. */
export function isRefused({ verdict, versions, stale }: Review): boolean {
  const isRaised = versions.length > 0 && versions.every(({ isEnough }) => isEnough)
  return stale.length > 0 || (verdict === 'major' && !isRaised)
}
