import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtempDisposable, rename } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { lockFile } from './lock.ts'

const run = promisify(execFile)

/** The folder for programs that are built or installed once. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'encrypted-bookmark-sync')
}

export async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/**
 * The path of something in the cache folder. If it is missing, `make` makes it in an empty folder and returns its path
 * there. Then it is moved to the cache folder. Meanwhile, other processes wait for it.
 */
export async function makeOnce(
  name: string,
  doing: string,
  make: (folder: string) => Promise<string>,
  env = process.env,
): Promise<string> {
  const cache = cacheFolder(env)
  const path = join(cache, name)
  if (await isProgram(path)) return path
  await mkdir(cache, { recursive: true })
  using _ = await lockFile(join(cache, `${name}.lock`))
  if (await isProgram(path)) return path
  await using folder = await mkdtempDisposable(join(cache, 'build-'))
  console.error(`${doing} into ${cache}: this takes minutes, once.`)
  await rename(await make(folder.path), path)
  return path
}

/** Installs the Debian package of a missing program. Other processes wait, because apt-get fails if two run at once. */
export async function installPackage(name: string, program: string, env = process.env): Promise<void> {
  const cache = cacheFolder(env)
  await mkdir(cache, { recursive: true })
  using _ = await lockFile(join(cache, 'apt-get.lock'))
  if (await isProgram(program)) return
  console.error(`Installing ${name} with apt-get: this takes a minute, once.`)
  await run('apt-get', ['update'], { env })
  await run('apt-get', ['install', '-y', '--no-install-recommends', name], { env })
}
