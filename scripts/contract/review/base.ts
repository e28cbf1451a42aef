import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ReviewError } from './error.ts'

export interface Base {
  /** A commit; without one everything is new. */
  commit?: string
  /** For people. */
  name: string
}

/** What `root` is compared with: the commit that was asked for, or where the work began. */
export async function findBase(root: URL, ref?: string): Promise<Base> {
  const git = gitIn(root)
  if ((await git('rev-parse', '--is-inside-work-tree')) === undefined)
    throw new ReviewError('This folder is in no git repository, so there is nothing to compare the contract with.')
  if (ref !== undefined) {
    const commit = await git('rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`)
    if (!commit) throw new ReviewError(`There is no commit \`${ref}\` here. A shallow clone has to fetch it first.`)
    return { commit, name: `\`${ref}\`` }
  }
  return beginning(git)
}

/** Copies the YAML files that lie beside the contracts in that commit. */
export async function checkOut(root: URL, commit: string, folder: URL): Promise<void> {
  const git = gitIn(root)
  const names = (await git('ls-tree', '--name-only', '-z', commit))?.split('\0') ?? []
  for (const name of names.filter((name) => /\.ya?ml$/.test(name)))
    await writeFile(new URL(encodeURIComponent(name), folder), (await git('show', `${commit}:./${name}`)) ?? '')
}

type Git = (...args: string[]) => Promise<string | undefined>

async function beginning(git: Git): Promise<Base> {
  const head = await git('rev-parse', '--verify', '--quiet', 'HEAD')
  if (!head) return { name: 'nothing: there is no commit yet' }
  const fork = await git('merge-base', 'HEAD', 'origin/main')
  if (fork && fork !== head) return { commit: fork, name: `\`${fork.slice(0, 7)}\`, the merge base with origin/main` }
  if (await git('status', '--porcelain', '--', ':(glob)*.yaml', ':(glob)*.yml'))
    return { commit: head, name: `\`${head.slice(0, 7)}\`, the last commit` }
  const previous = await git('rev-parse', '--verify', '--quiet', 'HEAD^')
  if (previous) return { commit: previous, name: `\`${previous.slice(0, 7)}\`, the previous commit` }
  if ((await git('rev-parse', '--is-shallow-repository')) === 'true')
    throw new ReviewError('This clone is too shallow to have the previous commit: fetch with a depth of 2 or more.')
  return { name: 'nothing: this is the first commit' }
}

/** What git prints; undefined where it fails. */
function gitIn(root: URL): Git {
  return async (...args) => {
    const options = { cwd: root, maxBuffer: 64 * 1024 * 1024 }
    return promisify(execFile)('git', args, options).then(
      ({ stdout }) => stdout.replace(/\n$/, ''),
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT')
          throw new ReviewError('There is no git here, and the review compares with a commit.')
        return undefined
      },
    )
  }
}
