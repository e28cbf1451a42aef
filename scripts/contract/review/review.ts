import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { staleFiles } from '../generated.ts'
import { checkOut, gitIn } from '../git.ts'
import { findBase } from './base.ts'
import { type Comparison, compareContracts } from './compare.ts'

export interface Review extends Comparison {
  /** The name of the base to print. */
  base: string
  /** Files of generated/ that do not match the contracts. */
  stale: string[]
}

/** Compares the contracts in the folder `root`, committed or not, with those of a commit. */
export async function review(root: URL, ref?: string): Promise<Review> {
  const { commit, name } = await findBase(root, ref)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'contract-base-'))
  const base = pathToFileURL(`${folder.path}/`)
  if (commit) await checkOut(gitIn(root), commit, base)
  return {
    base: name,
    ...(await compareContracts(base, root)),
    stale: await staleFiles(root).catch((error: Error) => [`all files, which cannot be generated (${error.message})`]),
  }
}

/** True if it must not be merged: a breaking change without a major version, or stale generated files. */
export function isRefused({ verdict, versions, stale }: Review): boolean {
  const isRaised = versions.length > 0 && versions.every(({ isEnough }) => isEnough)
  return stale.length > 0 || (verdict === 'major' && !isRaised)
}
