import { useEffect } from 'preact/hooks'
import { isDeletionAsked } from '../account/deletion-address.ts'
import type { Device } from '../app/device.ts'
import { lockedSync } from '../app/sign-out.ts'
import { Button } from '../ui/button.tsx'
import type { VaultOwner } from './owner.ts'

/** The way on for somebody whom nothing opens the vault: to begin anew. */
export function LostBoth({ owner: { client, userId }, device }: { owner: VaultOwner; device: Device }) {
  const ask = async () => {
    const { confirmDeletion } = await import('../account/confirm-deletion.tsx')
    confirmDeletion({ client, userId, sync: lockedSync(client, device, userId) })
  }
  useEffect(() => {
    if (isDeletionAsked()) void ask()
  }, [])
  return (
    <details class="lost-both">
      <summary>I have lost both</summary>
      <p>
        Without the passphrase and the recovery code, nobody can open these bookmarks any more, also not the service. A
        device where they are open still can: look there first. To begin anew, delete the account, then sign in again.
      </p>
      <Button look="danger" onClick={ask}>
        Delete my account…
      </Button>
    </details>
  )
}
