import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, isProgram } from './program.ts'

const source = 'github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c'
const run = promisify(execFile)

/** This machine has no MinIO server, and could not build one. */
export class NoMinioError extends Error {
  override name = 'NoMinioError'
}

/**
 * The path of the MinIO server: MINIO_BIN, or in PATH, or in the cache folder, where Go builds it once, which takes minutes.
 * @throws NoMinioError
 */
export async function findMinio(env = process.env): Promise<string> {
  if (env.MINIO_BIN) {
    if (await isProgram(env.MINIO_BIN)) return env.MINIO_BIN
    throw new Error(`MINIO_BIN: ${env.MINIO_BIN} is no program`)
  }
  const cache = cacheFolder(env)
  const inPath = (env.PATH ?? '').split(delimiter).filter(Boolean)
  for (const path of [...inPath, cache].map((folder) => join(folder, 'minio'))) if (await isProgram(path)) return path
  return build(cache, env)
}

/** The file is renamed when it is complete: other processes may be looking for it, or building it, too. */
async function build(cache: string, env: NodeJS.ProcessEnv): Promise<string> {
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'build-'))
  console.error(`Building the MinIO server into ${cache}: this takes minutes, once.`)
  try {
    await run('go', ['install', source], { env: { ...env, GOBIN: folder } })
    await rename(join(folder, 'minio'), join(cache, 'minio'))
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no Go' : (error as Error).message
    throw new NoMinioError(`no MinIO server: not in MINIO_BIN, PATH or ${cache}, and not to be built (${reason})`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return join(cache, 'minio')
}
