import { useState } from 'preact/hooks'
import { createVault, type Vault, type VaultDraft } from '../../client/index.ts'
import { Form, Submit } from '../ui/form.tsx'
import { AccountName } from './account-name.tsx'
import { NewPassphraseField } from './new-passphrase.tsx'
import type { VaultOwner } from './owner.ts'
import { RecoveryCode } from './recovery-code.tsx'

interface CreateVaultProps {
  owner: VaultOwner
  /** Resolves once the bookmarks are shown: until then, nothing here can be sent again. */
  created: (vault: Vault) => Promise<unknown>
  /** Throws what it does not handle. */
  failed: (error: unknown) => void
}

/** On the person's first device. The vault counts once its recovery code is on paper. */
export function CreateVault({ owner, created, failed }: CreateVaultProps) {
  const [draft, setDraft] = useState<VaultDraft>()
  const create = async ({ passphrase = '' }: Record<string, string>) => {
    setDraft(await createVault(owner.client, { userId: owner.userId, passphrase }))
  }
  if (draft) {
    return (
      <>
        <h1>Print this recovery code</h1>
        <RecoveryCode draft={draft} person={owner.person} confirm={() => draft.confirm().then(created, failed)} />
      </>
    )
  }
  return (
    <Form onSubmit={(fields) => create(fields).catch(failed)}>
      <h1>Choose a passphrase</h1>
      <p>It encrypts your bookmarks before they leave this device. Nobody can reset it.</p>
      <AccountName owner={owner} />
      <NewPassphraseField person={owner.person} autofocus />
      <Submit>Create my vault</Submit>
    </Form>
  )
}
