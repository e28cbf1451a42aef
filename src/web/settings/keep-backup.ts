import { type BackupOptions, createBackup, downloadBackup, KeyringError, RecordError } from '../../client/index.ts'
import type { App } from '../session/context.ts'
import { messageOf, UserFacingError } from '../ui/failure.ts'
import { saveFile } from '../ui/files.tsx'
import { tell } from '../ui/tell.ts'
import { later } from '../words/later.ts'

/**
 * Saves a backup from the service, with the present tab groups, as a file.
 *
 * @param history whether to include the browsing history
 * @throws UserFacingError if nobody could open the file later, or what else `downloadBackup` throws
 */
export async function keepBackup(app: App, id: string, history: boolean): Promise<void> {
  await keep(app, (options) => downloadBackup(app.client, id, { ...options, history }))
}

/** Makes a new backup on the service and saves it as a file. Sends unsent edits first, so that it includes them. */
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
    if (error instanceof RecordError) throw new UserFacingError(later.settings.wouldNotOpen(messageOf(error)))
    if (!(error instanceof KeyringError) || error.fault === 'unknown-version') throw error
    throw new UserFacingError(
      error.fault === 'keys-replaced' ? later.settings.keysReplaced : later.settings.keyringUnfit,
    )
  }
  if (!isVerified) tell(later.settings.unverified, { isAlert: true })
}

/** Returns today's date for the file name, because the file opens with the passphrase of that day. */
function today(): string {
  // The Swedish format is ISO 8601.
  return new Date().toLocaleDateString('sv')
}
