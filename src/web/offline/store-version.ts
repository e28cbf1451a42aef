import { setOutdated } from './register.ts'

/**
 * Notices when another tab opens the person's bookmarks with a newer version of the page: from then on, this one can save
 * nothing. Only what has the database open is told, and what holds it open would keep the other tab out.
 */
export async function watchStoreVersion(userId: string): Promise<void> {
  const databases = await indexedDB.databases?.()
  const name = databases?.find(({ name }) => name?.endsWith(userId))?.name
  if (name === undefined) return
  const request = indexedDB.open(name)
  request.onsuccess = () => {
    const database = request.result
    database.onversionchange = ({ newVersion }) => {
      database.close()
      // It is null when the bookmarks are deleted, by signing out.
      if (newVersion !== null) setOutdated('store')
    }
  }
}
