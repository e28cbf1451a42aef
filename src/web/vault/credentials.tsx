import { useId, useState } from 'preact/hooks'
import { type Client, type Credentials, KeyringError } from '../../client/index.ts'
import { Field, FieldFault } from '../ui/form.tsx'

/** A form's fields for a passphrase or a recovery code. */
export function CredentialFields({ owner }: { owner: VaultOwner }) {
  const [isCode, setCode] = useState(false)
  const [isShown, setShown] = useState(false)
  const id = useId()
  return (
    <>
      <AccountName owner={owner} />
      <div class="field">
        <label for={id}>I have the</label>
        <select id={id} name="kind" onChange={({ currentTarget }) => setCode(currentTarget.value === 'recovery')}>
          <option value="passphrase">passphrase</option>
          <option value="recovery">recovery code</option>
        </select>
      </div>
      <Field
        label="Passphrase or code"
        name="secret"
        type={isShown ? 'text' : 'password'}
        required
        autocomplete={isCode ? 'off' : 'current-password'}
        autofocus
      />
      <label class="bar">
        <input type="checkbox" checked={isShown} onChange={() => setShown(!isShown)} />
        Show what I type
      </label>
    </>
  )
}

/**
 * Tries what the person has entered in `CredentialFields`.
 *
 * @throws FieldFault it does not open the vault
 */
export async function tryCredentials<T>(
  userId: string,
  { kind, secret = '' }: Record<string, string>,
  open: (credentials: Credentials) => Promise<T>,
): Promise<T> {
  try {
    return await open(kind === 'recovery' ? { userId, recoveryCode: secret } : { userId, passphrase: secret })
  } catch (error) {
    const text = error instanceof KeyringError ? textOf(error, secret) : undefined
    throw text === undefined ? error : new FieldFault('secret', text)
  }
}

/** Nine groups of three, as a recovery code is shown. */
const codeForm = /^\s*(\S{3}[-\s]){8}\S{3}\s*$/

function textOf({ fault, message }: KeyringError, secret: string): string | undefined {
  switch (fault) {
    case 'wrong-passphrase':
      if (codeForm.test(secret)) return 'This looks like a recovery code: choose “recovery code” above.'
      return 'Wrong passphrase. Look at what you typed, and whether Caps Lock is on. The recovery code opens your bookmarks, too.'
    case 'wrong-recovery-code':
      return 'Wrong recovery code. Only the newest one opens your bookmarks, and only those of this account.'
    case 'mistyped-recovery-code':
      return `${message}.`
    default:
      return undefined
  }
}

/** For password managers, which tell passphrases apart by the name in a form. People see on the page whose it is. */
export function AccountName({ owner: { person, userId } }: { owner: VaultOwner }) {
  return (
    <span class="unseen" aria-hidden="true">
      <input autocomplete="username" value={person || userId} readOnly tabIndex={-1} />
    </span>
  )
}

/** Whose vault the page opens, creates or changes. */
export interface VaultOwner {
  client: Client
  userId: string
  /** The person's name; empty if the provider told none. */
  person: string
}
