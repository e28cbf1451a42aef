import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
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

/** Copies files of a commit into `target`: the YAML files of its top folder, such as the contracts, and `folders`. */
export async function checkOut(git: Git, commit: string, target: URL, ...folders: string[]): Promise<void> {
  const top = (await git('ls-tree', '--name-only', '-z', commit))?.split('\0') ?? []
  const within = folders.length > 0 ? await git('ls-tree', '-r', '--name-only', '-z', commit, ...folders) : ''
  const names = [...top.filter((name) => /\.ya?ml$/.test(name)), ...(within?.split('\0') ?? []).filter(Boolean)]
  for (const name of names) {
    const file = new URL(name.split('/').map(encodeURIComponent).join('/'), target)
    await mkdir(new URL('.', file), { recursive: true })
    await writeFile(file, (await git('show', `${commit}:./${name}`)) ?? '')
  }
}
