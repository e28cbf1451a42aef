import { useState } from 'preact/hooks'
import { charactersOf, codeLength } from '../../client/crypto/recovery-code.ts'
import type { Client, Credentials, KeyringError } from '../../client/index.ts'
import { isWrongSecret, tryTyped } from '../../client/vault/typed-secret.ts'
import { messageOf } from '../ui/failure.ts'
import { Field, FieldFault } from '../ui/form.tsx'
import { later } from '../words/later.ts'

/**
 * A field for a passphrase or a recovery code; `tryCredentials` tells them apart. If there is no owner, the field is
 * for a file, perhaps of another time or account: password managers must not fill in this account's passphrase.
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
 * Tries what was entered in `CredentialFields`.
 *
 * @param wrong the error message for a wrong entry, if it is not about the vault
 * @throws FieldFault if the entry is wrong, or what else `open` throws
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

/** The message about a wrong entry. For a code of the wrong length, it has the length. */
function textOf(error: KeyringError, secret: string, wrong = messageOf(error)): string {
  if (error.fault !== 'mistyped-recovery-code') return wrong
  const { length } = charactersOf(secret)
  return length === codeLength ? messageOf(error) : later.vault.codeLength(length, codeLength)
}

/** A hidden field with a user name, by which password managers tell passphrases apart. */
export function AccountName({ owner: { person, userId } }: { owner: VaultOwner }) {
  return (
    <span class="unseen" aria-hidden="true">
      <input autocomplete="username" value={person || userId} readOnly tabIndex={-1} />
    </span>
  )
}

/** The user whose vault is opened, created or changed. */
export interface VaultOwner {
  client: Client
  userId: string
  /** The person's name; empty if the provider did not send one. */
  person: string
}
