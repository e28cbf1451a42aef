import { type FileHandle, open, opendir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { checkWritable, isTemporary, makeFolder, syncPath } from '../config/folders.ts'
import { ConfigError } from '../config/values.ts'
import {
  assertObjectKey,
  isObjectKey,
  ObjectNotFoundError,
  type ObjectStore,
  ObjectStoreUnavailableError,
} from './store.ts'

const unfinished = '.part'
const writeBytes = 256 * 1024
const full = /^(ENOSPC|EDQUOT)$/

/**
 * Keeps each object as a file, written under a temporary name and renamed once it is on disk.
 *
 * @param access `read` neither makes nor tests the folder
 */
export async function openFolderStore(dir: string, access: 'read' | 'write' = 'write'): Promise<ObjectStore> {
  const store = folderStore(dir)
  if (access === 'read') return store
  try {
    await makeFolder(dir)
    await checkWritable(dir)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const fault = `EXPORTS_DIR: ${dir} cannot be written (${message})`
    if (!isTemporary(error)) throw new ConfigError(fault)
    throw new ObjectStoreUnavailableError(fault, { cause: error, ...(full.test(code) && { readable: store }) })
  }
  return store
}

function folderStore(dir: string): ObjectStore {
  return {
    async put(key, _exportKey, content, signal) {
      const path = pathOf(dir, key)
      const file = await open(path + unfinished, 'wx', 0o600)
      try {
        const size = await writeDurably(file, content, signal)
        await rename(path + unfinished, path)
        await syncPath(dir)
        return size
      } catch (error) {
        await removeBoth(path)
        throw error
      }
    },

    async get(key, _exportKey, range) {
      const file = await openObject(dir, key)
      try {
        const { size } = await file.stat()
        return { size, body: file.createReadStream(range) }
      } catch (error) {
        await file.close()
        throw error
      }
    },

    async has(key) {
      const found = await stat(pathOf(dir, key)).catch((error) => {
        if (error.code !== 'ENOENT') throw error
      })
      return found !== undefined
    },

    async remove(key) {
      await removeBoth(pathOf(dir, key))
    },

    async *list(before) {
      for await (const { name } of await opendir(dir)) {
        const key = name.endsWith(unfinished) ? name.slice(0, -unfinished.length) : name
        if (isObjectKey(key) && (before === undefined || (await isOlder(join(dir, name), before)))) yield key
      }
    },

    probe: () => checkWritable(dir),
    close: async () => {},
  }
}

/** False if the file is gone. */
async function isOlder(path: string, before: number): Promise<boolean> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs < before,
    () => false,
  )
}

function pathOf(dir: string, key: string): string {
  assertObjectKey(key)
  return join(dir, key)
}

async function writeDurably(
  opened: FileHandle,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> {
  await using file = opened
  const size = await writePieces(file, content, signal)
  await file.sync()
  signal.throwIfAborted()
  return size
}

/** Collects pieces for a few large writes, and overlaps collecting with writing. Resolves to their total size. */
async function writePieces(file: FileHandle, pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<number> {
  let [gathered, written] = [Buffer.allocUnsafe(writeBytes), Buffer.allocUnsafe(writeBytes)]
  let [size, filled] = [0, 0]
  let writing = Promise.resolve()

  async function write(): Promise<void> {
    await writing
    writing = file.writeFile(gathered.subarray(0, filled))
    // The write may fail before it is awaited; the later `await` still gets the error.
    writing.catch(() => {})
    ;[gathered, written] = [written, gathered]
    filled = 0
  }

  try {
    for await (const piece of pieces) {
      signal.throwIfAborted()
      size += piece.length
      for (let rest = piece; rest.length > 0; ) {
        const taken = rest.subarray(0, writeBytes - filled)
        gathered.set(taken, filled)
        filled += taken.length
        rest = rest.subarray(taken.length)
        if (filled === writeBytes) await write()
      }
    }
    await write()
    await writing
    return size
  } finally {
    // The file is closed next, so the last write must have ended.
    await Promise.allSettled([writing])
  }
}

async function openObject(dir: string, key: string): Promise<FileHandle> {
  try {
    return await open(pathOf(dir, key))
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new ObjectNotFoundError(key, error) : error
  }
}

async function removeBoth(path: string): Promise<void> {
  await rm(path + unfinished, { force: true })
  await rm(path, { force: true })
}
