/** What the server keeps for the user: deleted bookmarks, and a backup file. Loaded once the options page needs it. */

import { createHistory, type History } from '../../client/history.ts'
import { createBackup, deriveKeys, loadMasterKey } from '../../client/index.ts'
import { ask } from './ask.ts'
import { openClient, readSettings } from './settings.ts'

/** What was deleted last, and the way back. The worker has the sync, so it is asked to exchange. */
export async function openTrash(): Promise<Pick<History, 'trash' | 'restoreVersion'>> {
  const settings = await readSettings()
  const userId = settings.userId ?? ''
  const masterKey = await loadMasterKey(userId)
  if (!masterKey) throw new Error('Type your passphrase first')
  const sync = {
    syncNow: async () => void (await ask({ ask: 'sync-now' })),
    heldDeletions: () => [],
    approveDeletions: async () => {},
  }
  return createHistory({ client: openClient(settings), keys: deriveKeys(masterKey), userId, sync })
}

/** Downloads a backup of all bookmarks, which only this user's keys open. */
export async function saveBackup(): Promise<void> {
  await ask({ ask: 'sync-now' })
  const file = await createBackup(openClient(await readSettings()))
  const href = URL.createObjectURL(file)
  const download = `bookmarks-${new Date().toISOString().slice(0, 10)}.dat`
  Object.assign(document.createElement('a'), { href, download }).click()
  setTimeout(() => URL.revokeObjectURL(href), keptMs)
}

/** The browser reads the file meanwhile. */
const keptMs = 60_000
