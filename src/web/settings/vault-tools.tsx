import { useState } from 'preact/hooks'
import { changeVaultPassphrase, type RecoveryCodeDraft, replaceRecoveryCode } from '../../client/index.ts'
import { useApp } from '../app/context.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { CredentialFields, tryCredentials } from '../vault/credentials.tsx'
import { NewPassphraseField } from '../vault/new-passphrase.tsx'
import type { VaultOwner } from '../vault/owner.ts'
import { RecoveryCode } from '../vault/recovery-code.tsx'

/** A new recovery code, and another passphrase. Both ask for the current one or the other. */
export function VaultTools() {
  const owner = useApp()
  return (
    <section class="panel">
      <h2>Passphrase and recovery code</h2>
      <p>
        In this browser your bookmarks are stored unencrypted, so that they are there at once and offline. “Lock”, in
        the menu at the top, forgets the keys: the page asks for the passphrase again, which needs a connection. Only
        signing out deletes the bookmarks from this browser.
      </p>
      <div class="bar">
        <Button onClick={() => showDialog((close) => <NewCode owner={owner} close={close} />)}>
          New recovery code
        </Button>
        <Button onClick={() => showDialog((close) => <NewPassphrase owner={owner} close={close} />)}>
          Change the passphrase
        </Button>
      </div>
    </section>
  )
}

interface ToolProps {
  owner: VaultOwner
  close: () => void
}

function NewCode({ owner, close }: ToolProps) {
  const { client, userId, person } = owner
  const [draft, setDraft] = useState<RecoveryCodeDraft>()
  const prepare = async (fields: Record<string, string>) => {
    setDraft(await tryCredentials(userId, fields, (current) => replaceRecoveryCode(client, current)))
  }
  const confirm = async () => {
    await draft?.confirm()
    close()
    tell('The new recovery code counts, the old one no longer does')
  }
  return (
    <Dialog title={draft ? 'Print this recovery code' : 'New recovery code'} close={close}>
      {draft ? (
        <RecoveryCode draft={draft} person={person} confirm={confirm}>
          <Button onClick={close}>Cancel</Button>
        </RecoveryCode>
      ) : (
        <Form onSubmit={prepare}>
          <CredentialFields owner={owner} />
          <FormEnd close={close}>Show the new code</FormEnd>
        </Form>
      )}
    </Dialog>
  )
}

function NewPassphrase({ owner, close }: ToolProps) {
  const { client, userId, person } = owner
  const change = async (fields: Record<string, string>) => {
    await tryCredentials(userId, fields, (current) => changeVaultPassphrase(client, current, fields.passphrase ?? ''))
    close()
    tell('The passphrase was changed')
  }
  return (
    <Dialog title="Change the passphrase" close={close}>
      <Form onSubmit={change}>
        <CredentialFields owner={owner} />
        <NewPassphraseField person={person} />
        <FormEnd close={close}>Change it</FormEnd>
      </Form>
    </Dialog>
  )
}
