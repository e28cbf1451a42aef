import { changeVaultPassphrase, replaceRecoveryCode } from '../client/index.ts'
import { button, element, form, showDialog, tell } from './dom.ts'
import { credentialFields, newPassphraseField, readCredentials, recoveryCode, type VaultOwner } from './vault.ts'

/** A new recovery code, and another passphrase. Both ask for the current one or the other. */
export function vaultTools(owner: VaultOwner): HTMLElement {
  return element(
    'section',
    { className: 'card' },
    element('h2', {}, 'Passphrase and recovery code'),
    element(
      'div',
      { className: 'bar' },
      button('New recovery code', () => replaceCode(owner)),
      button('Change the passphrase', () => changePassphrase(owner)),
    ),
  )
}

function replaceCode({ client, userId }: VaultOwner): void {
  const dialog = openDialog('New recovery code', 'Show the new code', credentialFields(), async (fields) => {
    const draft = await replaceRecoveryCode(client, readCredentials(userId, fields))
    const confirm = async () => {
      await draft.confirm()
      dialog.close()
      tell('The new recovery code counts, the old one no longer does')
    }
    dialog.replaceChildren(...recoveryCode(draft, confirm, cancelButton(dialog)))
  })
}

function changePassphrase({ client, userId }: VaultOwner): void {
  const fields = [...credentialFields(), newPassphraseField()]
  const dialog = openDialog('Change the passphrase', 'Change it', fields, async (values) => {
    await changeVaultPassphrase(client, readCredentials(userId, values), values.passphrase ?? '')
    dialog.close()
    tell('The passphrase was changed')
  })
}

function openDialog(
  title: string,
  action: string,
  fields: HTMLElement[],
  submit: (values: Record<string, string>) => Promise<void>,
): HTMLDialogElement {
  const dialog = element('dialog', { 'aria-label': title })
  const send = element('button', { type: 'submit', className: 'primary' }, action)
  const buttons = element('div', { className: 'bar' }, send, cancelButton(dialog))
  dialog.append(form(submit, { className: 'fields' }, ...fields, buttons))
  showDialog(dialog)
  return dialog
}

function cancelButton(dialog: HTMLDialogElement): HTMLElement {
  return button('Cancel', () => dialog.close())
}
