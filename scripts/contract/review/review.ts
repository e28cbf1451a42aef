import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { staleFiles } from '../generated.ts'
import { checkOut, gitIn } from '../git.ts'
import { findBase } from './base.ts'
import { type Comparison, compareContracts } from './compare.ts'

export interface Review extends Comparison {
  /** What was compared with, for people. */
  base: string
  /** Files of generated/ that do not follow from the contracts. */
  stale: string[]
}

/** Compares the contracts of the folder `root`, as they lie there, with those of a commit. */
export async function review(root: URL, ref?: string): Promise<Review> {
  const { commit, name } = await findBase(root, ref)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'contract-base-'))
  const base = pathToFileURL(`${folder.path}/`)
  if (commit) await checkOut(gitIn(root), commit, base)
  return {
    base: name,
    ...(await compareContracts(base, root)),
    stale: await staleFiles(root).catch((error: Error) => [`all of it, for it cannot be made (${error.message})`]),
  }
}

/** Breaking without the version that says so, or files that nobody generated: what must not land. */
export function isRefused({ verdict, versions, stale }: Review): boolean {
  const isRaised = versions.length > 0 && versions.every(({ isEnough }) => isEnough)
  return stale.length > 0 || (verdict === 'major' && !isRaised)
}
