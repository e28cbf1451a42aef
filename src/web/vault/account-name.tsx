import type { VaultOwner } from './owner.ts'

/** For password managers, which tell passphrases apart by the name in a form. People see on the page whose it is. */
export function AccountName({ owner: { person, userId } }: { owner: VaultOwner }) {
  return (
    <span class="unseen" aria-hidden="true">
      <input autocomplete="username" value={person || userId} readOnly tabIndex={-1} />
    </span>
  )
}
