import { useState } from 'preact/hooks'
import { type Client, type Credentials, KeyringError, type KeyringFault } from '../../client/index.ts'
import { messageOf } from '../ui/failure.ts'
import { Field, FieldFault } from '../ui/form.tsx'
import { later } from '../words/later.ts'
import { charactersOf, codeLength, isCodeLike } from './code-like.ts'

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
  let fault: KeyringError | undefined
  try {
    if (isCodeLike(secret)) return await open({ userId, recoveryCode: secret })
  } catch (error) {
    fault = demandWrong(error)
  }
  try {
    // Also of many short words.
    return await open({ userId, passphrase: secret })
  } catch (error) {
    fault ??= demandWrong(error)
    throw new FieldFault('secret', textOf(fault, secret))
  }
}

/** @throws unknown the error, if it is another one than that the secret is wrong */
function demandWrong(error: unknown): KeyringError {
  if (error instanceof KeyringError && wrong.includes(error.fault)) return error
  throw error
}

const wrong: readonly KeyringFault[] = ['wrong-passphrase', 'wrong-recovery-code', 'mistyped-recovery-code']

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
