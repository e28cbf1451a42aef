import { type BackupOptions, createBackup, downloadBackup, KeyringError, RecordError } from '../../client/index.ts'
import type { App } from '../session/context.ts'
import { messageOf, ToldError } from '../ui/failure.ts'
import { saveFile } from '../ui/files.tsx'
import { tell } from '../ui/tell.ts'
import { later } from '../words/later.ts'

/**
 * Gives the person a backup that the service keeps, and tab groups with it.
 *
 * @param history whether it has the history, too
 * @throws ToldError the file would not open later
 */
export async function keepBackup(app: App, id: string, history: boolean): Promise<void> {
  await keep(app, (options) => downloadBackup(app.client, id, { ...options, history }))
}

/** Gives the person a backup of now. The service makes it from the ciphertext that it has, so what waits here is sent first. */
export async function keepNewBackup(app: App): Promise<void> {
  await app.sync.syncNow()
  await keep(app, (options) => createBackup(app.client, options))
}

async function keep({ userId, keys }: App, fetch: (options: BackupOptions) => Promise<Blob>): Promise<void> {
  let isVerified = true
  try {
    const file = await fetch({ userId, keys, onUnverified: () => (isVerified = false) })
    saveFile(file, later.settings.backupFile(today()))
  } catch (error) {
    if (error instanceof RecordError) throw new ToldError(later.settings.wouldNotOpen(messageOf(error)))
    if (!(error instanceof KeyringError) || error.fault === 'unknown-version') throw error
    throw new ToldError(error.fault === 'keys-replaced' ? later.settings.keysReplaced : later.settings.keyringUnfit)
  }
  if (!isVerified) tell(later.settings.unverified, { isAlert: true })
}

/** The dialog that opens the file asks for the passphrase of this day. */
function today(): string {
  // In Sweden a date is written as in ISO 8601.
  return new Date().toLocaleDateString('sv')
}
