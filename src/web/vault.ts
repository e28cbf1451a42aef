import {
  type Client,
  createVault,
  hasVault,
  openVault,
  type RecoveryCodeDraft,
  type Vault,
  VaultExistsError,
} from '../client/index.ts'
import { button, element, field, form, tell } from './dom.ts'

/** Whose vault the page opens, creates or changes. */
export interface VaultOwner {
  client: Client
  userId: string
}

/** Asks for what opens the person's vault; on their first device, for what creates it. */
export async function askForVault(main: HTMLElement, owner: VaultOwner): Promise<Vault> {
  return (await hasVault(owner.client)) ? askForPassphrase(main, owner) : askForNewPassphrase(main, owner)
}

/** A form's fields for a passphrase or a recovery code. */
export function credentialFields(): HTMLElement[] {
  const kinds = element(
    'select',
    { name: 'kind' },
    element('option', { value: 'passphrase' }, 'passphrase'),
    element('option', { value: 'recovery' }, 'recovery code'),
  )
  const secret = { name: 'secret', type: 'password', required: true, autocomplete: 'current-password', autofocus: true }
  return [element('label', {}, element('span', {}, 'I have the'), kinds), field('Passphrase or code', secret)]
}

/** What the person has entered in `credentialFields`. */
export function readCredentials(userId: string, { kind, secret = '' }: Record<string, string>) {
  return kind === 'recovery' ? { userId, recoveryCode: secret } : { userId, passphrase: secret }
}

export function newPassphraseField(): HTMLElement {
  const properties = {
    name: 'passphrase',
    type: 'password',
    required: true,
    minLength: 8,
    autocomplete: 'new-password',
    autofocus: true,
  }
  return field('New passphrase', properties)
}

/** Shows a recovery code that counts only when the person has confirmed it. */
export function recoveryCode(
  { recoveryCode }: RecoveryCodeDraft<unknown>,
  confirm: () => unknown,
  cancel?: HTMLElement,
): HTMLElement[] {
  return [
    element('h2', {}, 'Print this recovery code'),
    element('p', {}, 'It opens your bookmarks if you forget the passphrase. It is shown only once.'),
    element('output', { className: 'code', id: 'recovery-code' }, recoveryCode),
    element('div', { className: 'bar' }, button('I have it on paper', confirm, { className: 'primary' }), cancel),
  ]
}

function askForPassphrase(main: HTMLElement, { client, userId }: VaultOwner): Promise<Vault> {
  return new Promise((resolve) => {
    main.replaceChildren(
      form(
        async (fields) => resolve(await openVault(client, readCredentials(userId, fields))),
        { className: 'card' },
        element('h2', {}, 'Open your bookmarks'),
        ...credentialFields(),
        element('button', { type: 'submit', className: 'primary' }, 'Open'),
      ),
    )
  })
}

function askForNewPassphrase(main: HTMLElement, owner: VaultOwner): Promise<Vault> {
  return new Promise((resolve) => {
    const orOpen = (error: unknown) => {
      if (!(error instanceof VaultExistsError)) throw error
      tell(error.message, 'alert')
      resolve(askForPassphrase(main, owner))
    }
    const create = async ({ passphrase = '' }: Record<string, string>) => {
      const draft = await createVault(owner.client, { userId: owner.userId, passphrase })
      const confirm = () => draft.confirm().then(resolve, orOpen)
      main.replaceChildren(element('section', { className: 'card' }, ...recoveryCode(draft, confirm)))
    }
    main.replaceChildren(
      form(
        (fields) => create(fields).catch(orOpen),
        { className: 'card' },
        element('h2', {}, 'Choose a passphrase'),
        element('p', {}, 'It encrypts your bookmarks before they leave this device. Nobody can reset it.'),
        newPassphraseField(),
        element('button', { type: 'submit', className: 'primary' }, 'Create my vault'),
      ),
    )
  })
}
