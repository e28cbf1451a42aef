import { useState } from 'preact/hooks'
import { type Credentials, keepMasterKey, rotateKeys, type Vault, type VaultDraft } from '../../client/index.ts'
import type { App } from '../app/context.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { Progress, type Step } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'
import { CredentialFields, tryCredentials } from '../vault/credentials.tsx'
import { NewPassphraseField } from '../vault/new-passphrase.tsx'
import { RecoveryCode } from '../vault/recovery-code.tsx'

/** What a lost device holds opens nothing that is written from then on. */
export function askToChangeKeys(app: App): void {
  showDialog((close) => <ChangeKeys app={app} close={close} />)
}

function ChangeKeys({ app, close }: { app: App; close: () => void }) {
  const { client, sync, userId, device } = app
  const [draft, setDraft] = useState<VaultDraft>()
  const [vault, setVault] = useState<Vault>()
  const [step, setStep] = useState<Step>()

  const begin = async (fields: Record<string, string>) => {
    const rotate = (current: Credentials) => rotateKeys(client, current, fields.passphrase ?? '')
    setDraft(await tryCredentials(userId, fields, rotate))
  }
  const encrypt = async ({ keys }: Vault) => {
    const what = 'Encrypting under the new keys'
    setStep({ what })
    try {
      await sync.adoptKeys(keys, { onProgress: (done, total) => setStep({ what, done, total }) })
    } finally {
      setStep(undefined)
    }
    close()
    tell('The keys are changed. Your other devices ask for the passphrase once.')
  }
  const confirm = async () => {
    if (!draft) return
    const opened = await draft.confirm()
    if (device.keepsKey) await keepMasterKey(userId, opened.masterKey)
    setVault(opened)
    await encrypt(opened)
  }

  return (
    <Dialog title={draft && !vault ? 'Print the new recovery code' : 'Change the keys'} close={close}>
      {!draft && (
        <Form onSubmit={begin}>
          <p>
            Your bookmarks are encrypted anew, under keys that the lost device never had. You get a new recovery code;
            the old one opens nothing that is written from then on.
          </p>
          <CredentialFields owner={app} />
          <NewPassphraseField person={app.person} />
          <FormEnd close={close}>Show the new code</FormEnd>
        </Form>
      )}
      {draft && !vault && (
        <RecoveryCode draft={draft} person={app.person} confirm={confirm}>
          <Button onClick={close}>Cancel</Button>
        </RecoveryCode>
      )}
      {vault && (
        <div class="form" aria-live="polite">
          <p>The new keys count already. If this is interrupted, it goes on when the page is opened again.</p>
          {step ? (
            <Progress {...step} />
          ) : (
            <Button look="primary" onClick={() => encrypt(vault)}>
              Go on
            </Button>
          )}
        </div>
      )}
    </Dialog>
  )
}
