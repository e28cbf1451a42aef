import type { Client } from '../api/client.ts'
import { answer, unwrap } from '../api/unwrap.ts'
import type { OpenedExport } from '../bookmark.ts'
import type { Keys } from '../crypto/keys.ts'
import { BackupFailedError } from '../errors.ts'
import { systemClock } from '../timing/clock.ts'
import { openExport, streamed } from './export-file.ts'

/** How far a backup is: the service is making the file, or it is being downloaded (in bytes). */
export type BackupProgress = { stage: 'making' } | { stage: 'downloading'; done: number; total: number }

/** How `createBackup` goes on. */
export interface BackupOptions {
  onProgress?: ((progress: BackupProgress) => void) | undefined
  signal?: AbortSignal | undefined
}

/** How `openBackup` goes on. */
export interface OpenBackupOptions {
  /** Called as the file is read, in bytes. */
  onProgress?: ((done: number, total: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/** How long to wait before asking whether the file is there; each time twice as long. */
const firstWaitMs = 250
const longestWaitMs = 4000
/** The service's copy expires by itself if it cannot be deleted. */
const deleteWithinMs = 10_000

/**
 * Makes an encrypted backup of all bookmarks: has the service write the file, waits for it and downloads it. Only the user's
 * keys open it (`openBackup`). The service writes what it holds, so let `sync.syncNow()` send pending edits first. Its copy
 * of the file is deleted afterwards, also if the backup fails or is aborted.
 *
 * @returns the file; save it with the extension `.dat`
 * @throws ApiError, with status 429 if exports are already being made (`Too many exports in progress`) or kept (`Too many
 *   exports kept`): wait, or delete some (`DELETE /api/v1/exports/{id}`)
 * @throws BackupFailedError the service could not write the file
 * @throws SignedOutError, OfflineError, or the signal's reason
 */
export async function createBackup(client: Client, { onProgress, signal }: BackupOptions = {}): Promise<Blob> {
  signal?.throwIfAborted()
  const { id } = unwrap(await answer(client.POST('/api/v1/exports', { signal: signal ?? null })))
  const made = makeFile(client, id, onProgress ?? (() => {}), signal ?? new AbortController().signal)
  const deleted = made.catch(() => {}).then(() => deleteExport(client, id))
  const file = await made
  await deleted
  return file
}

/**
 * Opens a backup file: either everything in it is genuine and complete, or this throws. `sync.restoreExport` restores the
 * bookmarks.
 *
 * @param file from `createBackup`, or chosen by the user
 * @throws ExportError, RecordError as `openExport`: `other-key` if it is another user's
 * @throws the signal's reason
 */
export async function openBackup(
  file: Blob,
  keys: Keys,
  { onProgress, signal }: OpenBackupOptions = {},
): Promise<OpenedExport> {
  async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
    let done = 0
    for await (const bytes of streamed(file.stream())) {
      signal?.throwIfAborted()
      yield bytes
      done += bytes.length
      onProgress?.(done, file.size)
    }
  }
  return openExport(read(), { exportKey: keys.exportKey, keys })
}

async function makeFile(
  client: Client,
  id: string,
  onProgress: (progress: BackupProgress) => void,
  signal: AbortSignal,
): Promise<Blob> {
  try {
    onProgress({ stage: 'making' })
    const total = await untilWritten(client, id, signal)
    return await download(client, id, (done) => onProgress({ stage: 'downloading', done, total }), signal)
  } catch (error) {
    // A stream that is cut off by the signal may say so in the platform's own words.
    signal.throwIfAborted()
    throw error
  }
}

/** Returns the size of the file. */
async function untilWritten(client: Client, id: string, signal: AbortSignal): Promise<number> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    await systemClock.sleep(waitMs, signal)
    const { exports } = unwrap(await answer(client.GET('/api/v1/exports', { signal })))
    const found = exports.find((one) => one.id === id)
    if (found?.status === 'completed') return found.size_bytes ?? 0
    if (!found || found.status === 'failed') throw new BackupFailedError()
  }
}

async function download(
  client: Client,
  id: string,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const call = client.GET('/api/v1/exports/{id}', { params: { path: { id } }, parseAs: 'stream', signal })
  const reader = (unwrap(await answer(call)) as ReadableStream<Uint8Array<ArrayBuffer>>).getReader()
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let done = 0
  try {
    for (let read = await answer(reader.read()); !read.done; read = await answer(reader.read())) {
      pieces.push(read.value)
      done += read.value.length
      onProgress(done)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
  return new Blob(pieces, { type: 'application/octet-stream' })
}

async function deleteExport(client: Client, id: string): Promise<void> {
  const signal = AbortSignal.timeout(deleteWithinMs)
  await client.DELETE('/api/v1/exports/{id}', { params: { path: { id } }, signal }).catch(() => {})
}
