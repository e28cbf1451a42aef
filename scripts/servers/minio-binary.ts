import { execFile } from 'node:child_process'
import { constants, getPriority, setPriority } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, isProgram, makeOnce } from './program.ts'

const source = 'github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c'
const run = promisify(execFile)

/** MinIO is missing and could not be built. */
export class NoMinioError extends Error {
  override name = 'NoMinioError'
}

/**
 * The path of the MinIO server: MINIO_BIN, or in PATH, or in the cache folder. Go builds it there if it is missing, which
 * takes minutes.
 *
 * @throws NoMinioError, or another error if MINIO_BIN is not a program
 */
export async function findMinio(env = process.env): Promise<string> {
  return (await builtMinio(env)) ?? build(env)
}

/** The path of the MinIO server; undefined if `findMinio` would build it. */
export async function builtMinio(env = process.env): Promise<string | undefined> {
  if (env.MINIO_BIN) {
    if (await isProgram(env.MINIO_BIN)) return env.MINIO_BIN
    throw new Error(`MINIO_BIN: ${env.MINIO_BIN} is no program`)
  }
  const inPath = (env.PATH ?? '').split(delimiter).filter(Boolean)
  for (const folder of [...inPath, cacheFolder(env)]) {
    const path = join(folder, 'minio')
    if (await isProgram(path)) return path
  }
  return undefined
}

async function build(env: NodeJS.ProcessEnv): Promise<string> {
  try {
    return await makeOnce('minio', 'Building the MinIO server', install, env)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no Go' : (error as Error).message
    const places = `MINIO_BIN, PATH or ${cacheFolder(env)}`
    throw new NoMinioError(`no MinIO server: not in ${places}, and not to be built (${reason})`)
  }

  async function install(folder: string): Promise<string> {
    // No debug information, and less garbage collection in the compilers. Building then takes a quarter less CPU time.
    const flags = ['-ldflags=-s -w', '-gcflags=all=-dwarf=false']
    const building = run('go', ['install', ...flags, source], { env: { ...env, GOBIN: folder, GOGC: '400' } })
    // A low priority, so that tests come first. Go's compilers inherit it.
    if (building.child.pid !== undefined)
      setPriority(building.child.pid, Math.max(getPriority(), constants.priority.PRIORITY_LOW))
    await building
    return join(folder, 'minio')
  }
}
