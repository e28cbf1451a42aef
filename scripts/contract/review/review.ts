import { mkdtempDisposable, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { staleFiles } from '../generated.ts'
import { checkOut, type Git, gitIn } from '../git.ts'
import { findBase } from './base.ts'
import { type Comparison, compareContracts } from './compare.ts'
import type { Impact } from './impact.ts'

export interface Review extends Comparison {
  /** The name of the base, to print. */
  base: string
  /** Files of generated/ that do not match the contracts. */
  stale: string[]
  /** Set if the rules of the review themselves changed. Then the base's rules give the verdict, if they still run. */
  rules?: { files: string[]; verdict: Impact | undefined; failed: string | undefined }
}

/** Compares the contracts in the folder `root`, committed or not, with those of a commit. */
export async function review(root: URL, ref?: string): Promise<Review> {
  const { commit, name } = await findBase(root, ref)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'contract-base-'))
  const base = pathToFileURL(`${folder.path}/`)
  const git = gitIn(root)
  const files = commit ? await changedRules(git, commit) : []
  if (commit) await checkOut(git, commit, base, ...(files.length > 0 ? [rules] : []))
  const own = await compareContracts(base, root)
  const { failed, ...judged } = files.length > 0 ? await judgeByBase(base, root, own) : { ...own, failed: undefined }
  return {
    base: name,
    ...judged,
    ...(files.length > 0 && { rules: { files, verdict: own.verdict, failed } }),
    stale: await staleFiles(root).catch((error: Error) => [`all files, which cannot be generated (${error.message})`]),
  }
}

const rules = 'scripts/contract'

/** The files of scripts/contract, and redocly.yaml, that changed since this commit. Empty if the commit has no review. */
async function changedRules(git: Git, commit: string): Promise<string[]> {
  if (!(await git('ls-tree', '--name-only', commit, `${rules}/review/`))) return []
  const names = await git('diff', '--name-only', '-z', '--relative', commit, '--', rules, 'redocly.yaml')
  return names?.split('\0').filter(Boolean) ?? []
}

/** Runs the rules of the base, with the packages that are installed here. */
async function judgeByBase(
  base: URL,
  root: URL,
  own: Comparison,
): Promise<Comparison & { failed: string | undefined }> {
  try {
    await symlink(fileURLToPath(new URL('../../../node_modules', import.meta.url)), new URL('node_modules', base))
    const module = new URL(`${rules}/review/compare.ts`, base).href
    const theirs = ((await import(module)) as { compareContracts: typeof compareContracts }).compareContracts
    const result = await theirs(base, root)
    // Older versions of the review return fewer fields.
    return {
      ...result,
      failed: undefined,
      findings: result.findings.map((finding) => ({ ...finding, operations: finding.operations ?? [] })),
    }
  } catch (error) {
    return { ...own, failed: error instanceof Error ? error.message : String(error) }
  }
}

/** True if the change must not be merged: it is breaking but its version too low, or generated files are outdated. */
export function isRefused({ verdict, versions, stale }: Review): boolean {
  const isRaised = versions.length > 0 && versions.every(({ isEnough }) => isEnough)
  return stale.length > 0 || (verdict === 'major' && !isRaised)
}
