import { useEffect, useState } from 'preact/hooks'
import {
  type Credentials,
  changeVaultPassphrase,
  type RecoveryCodeDraft,
  replaceRecoveryCode,
} from '../../client/index.ts'
import { useApp } from '../session/context.ts'
import { hrefOf } from '../session/route.ts'
import { withRecentSignIn } from '../session/with-recent-sign-in.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialogs.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { CredentialFields, tryCredentials, type VaultOwner } from '../vault/credentials.tsx'
import { RepairOffer, showEarlierKeyrings, showRepair, useRepairOffer } from '../vault/keyrings.tsx'
import { NewPassphraseField } from '../vault/new-passphrase.tsx'
import { RecoveryCode } from '../vault/recovery-code.tsx'
import { judgedHere } from '../vault/strength.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'

/**
 * Changes the recovery code or the passphrase, after asking for one of them. Restores earlier keyrings, or repairs one.
 *
 * @param rest the action to continue with after a sign-in
 */
export function Security({ rest }: { rest: string }) {
  const owner = useApp()
  const replaceCode = () =>
    withRecentSignIn(owner.client, { to: hrefOf('security', 'code') }, (close) => (
      <NewCode owner={owner} close={close} />
    ))
  const changePassphrase = () =>
    withRecentSignIn(owner.client, { to: hrefOf('security', 'passphrase') }, (close) => (
      <NewPassphrase owner={owner} close={close} />
    ))
  useEffect(() => {
    if (rest === 'code') replaceCode()
    if (rest === 'passphrase') changePassphrase()
    if (rest === 'keyrings') showEarlierKeyrings(owner)
    if (rest === 'repair') showRepair(owner)
  }, [rest])
  return (
    <section class="page">
      <h1>{say.app.views.security}</h1>
      <section class="panel">
        <h2>{later.settings.secrets}</h2>
        <p>{later.settings.secretsMore}</p>
        <div class="bar">
          <Button onClick={replaceCode}>{later.settings.newCode}</Button>
          <Button onClick={changePassphrase}>{later.settings.changePassphrase}</Button>
          <Button onClick={() => showEarlierKeyrings(owner)}>{later.vault.showEarlierPassphrases}</Button>
          <Button onClick={() => showRepair(owner)}>{later.vault.repair}</Button>
        </div>
      </section>
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
  const { isOffered, note } = useRepairOffer()
  const prepare = async (fields: Record<string, string>) => {
    setDraft(await note(tryCredentials(userId, fields, (current) => replaceRecoveryCode(client, current))))
  }
  const confirmed = () => {
    close()
    tell(later.settings.codeReplaced)
  }
  return (
    <Dialog title={draft ? later.vault.printCode : later.settings.newCode} close={close}>
      {draft ? (
        <RecoveryCode draft={draft} person={person} confirmed={confirmed} cancel={close} />
      ) : (
        <Form onSubmit={prepare}>
          <CredentialFields owner={owner} />
          {isOffered && <RepairOffer owner={owner} />}
          <FormEnd close={close}>{say.ui.continue}</FormEnd>
        </Form>
      )}
    </Dialog>
  )
}

function NewPassphrase({ owner, close }: ToolProps) {
  const { client, userId, person } = owner
  const { isOffered, note } = useRepairOffer()
  const change = async (fields: Record<string, string>) => {
    const replace = (current: Credentials) =>
      changeVaultPassphrase(client, current, fields.passphrase ?? '', judgedHere)
    await note(tryCredentials(userId, fields, replace))
    close()
    tell(later.settings.passphraseChanged)
  }
  return (
    <Dialog title={later.settings.changePassphrase} close={close}>
      <Form onSubmit={change}>
        <CredentialFields owner={owner} />
        <NewPassphraseField person={person} />
        {isOffered && <RepairOffer owner={owner} />}
        <FormEnd close={close}>{later.settings.changeIt}</FormEnd>
      </Form>
    </Dialog>
  )
}
