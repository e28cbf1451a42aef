import { useState } from 'preact/hooks'
import { charactersOf, codeLength } from '../../client/crypto/recovery-code.ts'
import type { Client, Credentials, KeyringError } from '../../client/index.ts'
import { isWrongSecret, tryTyped } from '../../client/vault/typed-secret.ts'
import { messageOf } from '../ui/failure.ts'
import { Field, FieldFault } from '../ui/form.tsx'
import { later } from '../words/later.ts'

/** A form's field for a passphrase or a recovery code: which of them it is, its form tells. */
export function CredentialFields({ owner }: { owner: VaultOwner }) {
  const [isShown, setShown] = useState(false)
  return (
    <>
      <AccountName owner={owner} />
      <Field
        label={later.vault.secret}
        name="secret"
        type={isShown ? 'text' : 'password'}
        required
        autocomplete="current-password"
        autofocus
      />
      <label class="bar">
        <input type="checkbox" checked={isShown} onChange={() => setShown(!isShown)} />
        {later.vault.showTyped}
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
  { secret = '' }: Record<string, string>,
  open: (credentials: Credentials) => Promise<T>,
): Promise<T> {
  try {
    return await tryTyped(userId, secret, open)
  } catch (error) {
    throw isWrongSecret(error) ? new FieldFault('secret', textOf(error, secret)) : error
  }
}

/** Of a code with a mistake, it says where. */
function textOf(error: KeyringError, secret: string): string {
  const { length } = charactersOf(secret)
  const isWhole = error.fault !== 'mistyped-recovery-code' || length === codeLength
  return isWhole ? messageOf(error) : later.vault.codeLength(length, codeLength)
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
