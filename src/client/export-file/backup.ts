import type { components } from '../../../generated/client.ts'
import type { Client } from '../api/client.ts'
import { notOurs } from '../api/ours.ts'
import { answer, onDemand, unwrap } from '../api/unwrap.ts'
import { withoutDeviceId } from '../api/without-device-id.ts'
import type { OpenedExport } from '../bookmark.ts'
import { deriveKeys, type Keys } from '../crypto/keys.ts'
import { decryptBookmarkAside } from '../crypto/many-records.ts'
import { BackupFailedError, ExportError, RecordError } from '../errors.ts'
import { systemClock } from '../timing/clock.ts'
import { openExport, streamed, streamRecords, writeExport } from './export-file.ts'
import { lists } from './json.ts'
import { joinBackup, splitBackup } from './saved-backup.ts'

/** The stages of a backup: the service makes the file, then it is downloaded and checked. `done` and `total` are bytes. */
export type BackupProgress = { stage: 'making' } | { stage: 'downloading' | 'checking'; done: number; total: number }

/** The options of `createBackup` and `downloadBackup`. */
export interface BackupOptions {
  /** The signed-in user's `user_id`. */
  userId: string
  /** The vault's keys. The file is returned only if they open it. */
  keys: Keys
  /** True to include the browsing history, which reveals more about the person than bookmarks do. Default: false. */
  history?: boolean | undefined
  onProgress?: ((progress: BackupProgress) => void) | undefined
  /**
   * Called if the keyring has no MAC: a version before 3.0 made it, or the service has taken the MAC out. Then only its form
   * was checked, and the file may not open later. Ask the person to set a passphrase, the same or another: that adds a MAC.
   */
  onUnverified?: (() => void) | undefined
  signal?: AbortSignal | undefined
}

/** The passphrase or the recovery code that was valid when the backup was saved. */
export type BackupSecret = { passphrase: string } | { recoveryCode: string }

/** The options of `openBackup`. */
export interface OpenBackupOptions {
  /** Called while the file is read. Both numbers are bytes. */
  onProgress?: ((done: number, total: number) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Ms to wait before asking whether the file is complete. Each further wait is twice as long, up to `longestWaitMs`. */
const firstWaitMs = 250
const longestWaitMs = 4000
/** The time limit (ms) for deleting the service's copy, which otherwise expires by itself. */
const deleteWithinMs = 10_000

/**
 * Makes an encrypted backup of all bookmarks and tab groups: lets the service write an export, downloads it, adds the tab
 * groups, and puts the vault's keyring in front. The vault's keys open the file (`openBackup`), and so does the current
 * passphrase or recovery code, without the service and after the account is gone. The service exports what it has, so send
 * pending edits first (`sync.syncNow()`). Its copy is deleted afterwards, or else expires, also if the backup fails.
 *
 * @returns the file, after checking that these keys open it; save it as `.dat`, which the page's file dialog shows
 * @throws ApiError, with status 429 if exports are already being made (`Too many exports in progress`) or kept
 *   (`Too many exports kept`): wait, or delete some (`DELETE /api/v1/exports/{id}`)
 * @throws BackupFailedError the service could not write the file
 * @throws what `downloadBackup` throws
 */
export async function createBackup(client: Client, options: BackupOptions): Promise<Blob> {
  const { userId, signal } = options
  const userClient = client.as(userId)
  signal?.throwIfAborted()
  const { id } = unwrap(await answer(userClient.POST('/api/v1/exports', { signal: signal ?? null })))
  const made = stoppable(options, async (signal, onProgress) => {
    onProgress({ stage: 'making' })
    await untilWritten(userClient, id, signal)
    return downloadBackup(client, id, options)
  })
  const deleted = made.catch(() => {}).then(() => deleteExport(userClient, id))
  const file = await made
  await deleted
  return file
}

/**
 * Downloads an export that the service keeps, and returns a file like that of `createBackup`. Keyring, tab groups and history
 * are those of the time of the download.
 *
 * @param id the id of an export whose `status` is `completed`
 * @throws KeyringError the service's keyring would not open the file later. `keys-replaced`: its newest key is another, so open
 *   the vault again. `altered`, `malformed`, `unknown-version`, `weak-kdf`, `excessive-kdf`: these keys did not make it, or
 *   it is invalid, so make a new one with `repairVault`.
 * @throws ExportError, RecordError the keys do not open the file: see `openExport`
 * @throws ApiError, with status 404 if there is no such export or no keyring
 * @throws SignedOutError, OfflineError, or the signal's reason
 */
export async function downloadBackup(client: Client, id: string, options: BackupOptions): Promise<Blob> {
  return stoppable(options, async (signal, onProgress) => {
    const { userId, keys, history, onUnverified } = options
    const userClient = client.as(userId)
    const exported = await download(userClient, id, signal, onProgress)
    const others = await pullLive(userClient, history ? ['group', 'history'] : ['group'], signal)
    // Since the export was made, another device may have rotated the keys or restored an earlier keyring.
    const { keyring } = unwrap(await answer(userClient.GET('/api/v1/account/keyring', { signal })))
    const { isAuthentic } = await loadKeyring()
    const isVerified = isAuthentic(keyring, userId, keys)
    const checking = observed(exported, 0, exported.size, signal, (done, total) =>
      onProgress({ stage: 'checking', done, total }),
    )
    const whole = await withOthers(exported, checking, others, keys)
    if (!isVerified) onUnverified?.()
    return joinBackup({ userId, keyring }, whole)
  })
}

/**
 * Opens a backup file without the service. Throws unless everything in the file is genuine and nothing was cut off.
 * `sync.restoreExport` puts the bookmarks back, encrypted under the keys of that sync.
 *
 * @param file from `createBackup`, or chosen by the user. A file of `GET /api/v1/exports/{id}` has no keyring: only keys open it
 * @param unlocker the keys of an open vault; or the passphrase or recovery code that was valid when the file was saved, also if
 *   the account or the service is gone. If there are keys, try them first, and ask the user after `passphrase-needed`
 * @throws ExportError, RecordError as `openExport`; `passphrase-needed`, `no-keyring`, `other-keyring`
 * @throws WrongKeyError, KeyringError the passphrase or recovery code is wrong, or the keyring in the file is invalid
 * @throws RangeError not exactly one of the three was given: keys, a passphrase or a recovery code
 * @throws OfflineError the part of the app that opens keyrings could not be loaded; UnsupportedError without WebAssembly
 * @throws the signal's reason
 */
export async function openBackup(
  file: Blob,
  unlocker: Keys | BackupSecret,
  { onProgress, signal }: OpenBackupOptions = {},
): Promise<OpenedExport> {
  requireUnlocker(unlocker)
  signal?.throwIfAborted()
  const { exported, carried } = await splitBackup(file)
  const openWith = (keys: Keys) => {
    const reading = observed(exported, file.size - exported.size, file.size, signal, onProgress)
    return openExport(reading, { exportKey: keys.exportKey, keys })
  }
  if ('recordKey' in unlocker) {
    return openWith(unlocker).catch((error) => {
      if (!carried || !isUnderOtherKeys(error)) throw error
      const needed = 'These keys do not open the backup: it takes the passphrase or recovery code of its time'
      throw new ExportError('passphrase-needed', needed)
    })
  }
  if (!carried) throw new ExportError('no-keyring', 'The file has no keyring: only the keys of its vault open it')
  const { openKeyring } = await loadKeyring()
  const masterKey = await openKeyring(carried.keyring, { ...unlocker, userId: carried.userId })
  return openWith(deriveKeys(masterKey)).catch((error) => {
    if (!isUnderOtherKeys(error)) throw error
    throw new ExportError('other-keyring', 'The keyring in the backup is not the one of its bookmarks')
  })
}

type Change = components['schemas']['SyncEvent']

/** Pulls the records of these types that are not deleted: the service's exports have only bookmarks. */
async function pullLive(client: Client, types: Change['entity_type'][], signal: AbortSignal): Promise<Change[]> {
  const live = new Map<string, Change>()
  for (let since = 0, isMore = true; isMore; ) {
    const request = { body: { since, limit: 1000, entity_types: types }, middleware: [withoutDeviceId], signal }
    const page = unwrap(await answer(client.POST('/api/v1/sync/pull', request)))
    for (const change of page.changes) {
      const key = `${change.entity_type} ${change.entity_id}`
      if (change.operation === 'delete') live.delete(key)
      // Older services do not know `entity_types` and send all types.
      else if (types.includes(change.entity_type)) live.set(key, change)
    }
    since = page.last_sync_timestamp
    isMore = page.has_more
  }
  return [...live.values()]
}

/**
 * Adds tab groups and history to the export, each type in its own list. Decrypts each record once, because an unreadable
 * one would keep the file from opening later, but does not keep the plaintext.
 */
async function withOthers(
  exported: Blob,
  checking: AsyncIterable<Uint8Array>,
  others: readonly Change[],
  keys: Keys,
): Promise<Blob> {
  const texts: string[] = []
  const add = (record: object) => texts.push(texts.length > 0 ? ',' : '', JSON.stringify(record))
  const reading = streamRecords(checking, { exportKey: keys.exportKey, keys })
  let read = await reading.next()
  for (; !read.done; read = await reading.next()) if (others.length > 0) add(read.value.record)
  if (others.length === 0) return exported
  const { version, exported_at, bookmark_count } = read.value
  const parts = [JSON.stringify({ version, exported_at }).slice(0, -1), ',"bookmarks":[', ...texts]
  parts.push(`],"bookmark_count":${bookmark_count}`)
  for (const [list, type] of Object.entries(lists)) {
    texts.length = 0
    for (const { entity_type, entity_id: id, encrypted_data = '', data_hash = '' } of others) {
      if (entity_type !== type) continue
      const record = { id, encrypted_data, data_hash }
      await decryptBookmarkAside(keys, record, type)
      add(record)
    }
    if (texts.length > 0) parts.push(`,"${list}":[`, ...texts, ']')
  }
  return writeExport(keys.exportKey, new Blob([...parts, '}']))
}

/** For callers in JavaScript, whose arguments are not type-checked. */
function requireUnlocker(unlocker: Partial<Keys> & { passphrase?: unknown; recoveryCode?: unknown }): void {
  const { recordKey, passphrase, recoveryCode } = unlocker
  if ([recordKey, passphrase, recoveryCode].filter((given) => given !== undefined).length !== 1) {
    throw new RangeError('openBackup wants the keys of a vault, or { passphrase }, or { recoveryCode }')
  }
}

function isUnderOtherKeys(error: unknown): boolean {
  if (error instanceof RecordError) return error.fault === 'unknown-key'
  return error instanceof ExportError && error.fault === 'other-key'
}

/** Yields the file's bytes, and reports how many were read. */
async function* observed(
  file: Blob,
  start: number,
  total: number,
  signal: AbortSignal | undefined,
  onProgress: ((done: number, total: number) => void) | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  let done = start
  for await (const bytes of streamed(file.stream())) {
    yield bytes
    done += bytes.length
    onProgress?.(done, total)
    signal?.throwIfAborted()
  }
}

function loadKeyring() {
  return onDemand(import('../crypto/keyring.ts'))
}

async function stoppable<Result>(
  { signal = new AbortController().signal, onProgress = () => {} }: BackupOptions,
  work: (signal: AbortSignal, onProgress: (progress: BackupProgress) => void) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(signal, onProgress)
  } catch (error) {
    // Throws the signal's reason: a stream that was aborted may throw the platform's own error.
    signal.throwIfAborted()
    throw error
  }
}

async function untilWritten(client: Client, id: string, signal: AbortSignal): Promise<void> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    await systemClock.sleep(waitMs, signal)
    const { exports } = unwrap(await answer(client.GET('/api/v1/exports', { signal })))
    const found = exports.find((one) => one.id === id)
    if (found?.status === 'completed') return
    if (!found || found.status === 'failed') throw new BackupFailedError()
  }
}

async function download(
  client: Client,
  id: string,
  signal: AbortSignal,
  onProgress: (progress: BackupProgress) => void,
): Promise<Blob> {
  const init = { params: { path: { id } }, parseAs: 'stream', signal } as const
  const result = await answer(client.GET('/api/v1/exports/{id}', init))
  const { response } = result
  const body = unwrap(result)
  // The response must not be a portal's page or a proxy's text.
  if (!/octet-stream|^$/.test(response.headers.get('content-type') ?? '')) throw notOurs(response)
  const reader = (body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader()
  const total = Number(response.headers.get('content-length') ?? 0)
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let done = 0
  try {
    for (let read = await answer(reader.read()); !read.done; read = await answer(reader.read())) {
      pieces.push(read.value)
      done += read.value.length
      onProgress({ stage: 'downloading', done, total })
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
  return new Blob(pieces, { type: 'application/octet-stream' })
}

async function deleteExport(client: Client, id: string): Promise<void> {
  const signal = AbortSignal.timeout(deleteWithinMs)
  const init = { params: { path: { id } }, signal }
  await client.DELETE('/api/v1/exports/{id}', init).catch(() => {})
}
