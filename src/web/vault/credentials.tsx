import { useState } from 'preact/hooks'
import { charactersOf, codeLength } from '../../client/crypto/recovery-code.ts'
import type { Client, Credentials, KeyringError } from '../../client/index.ts'
import { isWrongSecret, tryTyped } from '../../client/vault/typed-secret.ts'
import { messageOf } from '../ui/failure.ts'
import { Field, FieldFault } from '../ui/form.tsx'
import { later } from '../words/later.ts'

/**
 * A form's field for a passphrase or a recovery code; its form tells the two apart. Without an owner, for a file of another time
 * or account: a password manager must not take what is typed for the passphrase of this account.
 */
export function CredentialFields({ owner }: { owner?: VaultOwner }) {
  const [isShown, setShown] = useState(false)
  return (
    <>
      {owner && <AccountName owner={owner} />}
      <Field
        label={later.vault.secret}
        name="secret"
        isSecret
        type={isShown ? 'text' : 'password'}
        required
        autocomplete={owner ? 'current-password' : 'off'}
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
 * @param wrong says that it is wrong, where that is not about the vault
 * @throws FieldFault it does not open
 */
export async function tryCredentials<T>(
  userId: string,
  { secret = '' }: Record<string, string>,
  open: (credentials: Credentials) => Promise<T>,
  wrong?: string,
): Promise<T> {
  try {
    return await tryTyped(userId, secret, open)
  } catch (error) {
    throw isWrongSecret(error) ? new FieldFault('secret', textOf(error, secret, wrong)) : error
  }
}

/** Tells where the mistake in a code is. */
function textOf(error: KeyringError, secret: string, wrong = messageOf(error)): string {
  if (error.fault !== 'mistyped-recovery-code') return wrong
  const { length } = charactersOf(secret)
  return length === codeLength ? messageOf(error) : later.vault.codeLength(length, codeLength)
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
