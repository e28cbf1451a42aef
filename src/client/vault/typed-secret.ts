/** For a single input field that takes a passphrase or a recovery code. */
import type { Credentials } from '../crypto/keyring.ts'
import { charactersOf } from '../crypto/recovery-code.ts'
import { KeyringError, type KeyringFault } from '../errors.ts'

/** Roughly nine groups of three characters, as a recovery code is shown. */
const grouped = /^\s*(?:[0-9a-z]{2,4}[-\s]+){6,10}[0-9a-z*~$=]{1,4}\s*$/i

/** True if the text looks like a recovery code, maybe with a typing mistake, rather than a passphrase. */
export function isCodeLike(typed: string): boolean {
  // The last character may be a check symbol. A code has digits, but the words of a passphrase do not.
  return grouped.test(typed) || (/^[0-9a-z]{22,28}[0-9a-z*~$=]$/i.test(charactersOf(typed)) && /\d/.test(typed))
}

const wrong: readonly KeyringFault[] = ['wrong-passphrase', 'wrong-recovery-code', 'mistyped-recovery-code']

export function isWrongSecret(error: unknown): error is KeyringError {
  return error instanceof KeyringError && wrong.includes(error.fault)
}

/** Tries the text as a code, if it looks like one, and as a passphrase. @throws KeyringError about the kind it looks like */
export async function tryTyped<T>(
  userId: string,
  typed: string,
  open: (credentials: Credentials) => Promise<T>,
): Promise<T> {
  const asPassphrase = async () => {
    try {
      return await open({ userId, passphrase: typed })
    } catch (error) {
      // Keyboards of phones add a space after a suggested word.
      const trimmed = typed.trim()
      if (trimmed === typed || !isWrongSecret(error)) throw error
      return open({ userId, passphrase: trimmed })
    }
  }
  if (!isCodeLike(typed)) return asPassphrase()
  try {
    return await open({ userId, recoveryCode: typed })
  } catch (error) {
    if (!isWrongSecret(error)) throw error
    // A passphrase of many short words looks like a code.
    return asPassphrase().catch((other) => {
      throw isWrongSecret(other) ? error : other
    })
  }
}
