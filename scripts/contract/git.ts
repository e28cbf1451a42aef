import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** The output of git, without the final newline; undefined if it fails. Rejects if git is not installed. */
export type Git = (...args: string[]) => Promise<string | undefined>

export function gitIn(root: URL): Git {
  return (...args) =>
    promisify(execFile)('git', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 }).then(
      ({ stdout }) => stdout.replace(/\n$/, ''),
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') throw error
        return undefined
      },
    )
}

/** Copies the contracts and the other YAML files of a commit. */
export async function checkOut(git: Git, commit: string, target: URL): Promise<void> {
  const top = (await git('ls-tree', '--name-only', '-z', commit))?.split('\0') ?? []
  for (const name of top.filter((name) => /\.ya?ml$/.test(name)))
    await writeFile(new URL(encodeURIComponent(name), target), (await git('show', `${commit}:./${name}`)) ?? '')
}
