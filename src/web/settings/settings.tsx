import { Backups } from './backups.tsx'
import { BookmarkFiles } from './bookmark-files.tsx'
import { Bookmarklet } from './bookmarklet.tsx'
import { VaultTools } from './vault-tools.tsx'

/** What is needed now and then: files, backups, and what opens the vault. */
export function Settings() {
  return (
    <div class="page">
      <h1>Import, export, vault</h1>
      <BookmarkFiles />
      <Bookmarklet />
      <Backups />
      <VaultTools />
    </div>
  )
}
