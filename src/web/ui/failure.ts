import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { ForbiddenOrigin } from '../../../generated/errors.ts'
import {
  ApiError,
  BackupFailedError,
  ExportError,
  type ExportFault,
  KeyringError,
  OfflineError,
  RecordError,
  RollbackError,
  SignedOutError,
  SignInAgainError,
  StorageFullError,
  StoreBlockedError,
  StoreVersionError,
  UnsentChangesError,
  UnsupportedError,
  VaultExistsError,
} from '../../client/errors.ts'
import { say } from '../words/words.ts'
import { hasLeft } from './leaving.ts'
import { tell } from './tell.ts'

/** An error whose text is a sentence for the person. */
export class UserFacingError extends Error {}

/** Shows at the bottom of the page why something failed. */
export function tellFailure(error: unknown): void {
  if (!isExplained(error)) tell(messageOf(error), { isAlert: true })
}

/** True for failures that follow from the end of the session, which the page has already explained (leaving.ts). */
function isExplained(error: unknown): boolean {
  return (
    hasLeft() && (error instanceof SignedOutError || (error instanceof DOMException && error.name === 'AbortError'))
  )
}

/** How to show a failure: at the bottom of the page, or inside a dialog or form. */
export const ShowFailure = createContext(tellFailure)

/** Leads the person to the sign-in that an operation requires. */
export const LeadToSignIn = createContext<(() => void) | undefined>(undefined)

/** Shows why something failed, or leads to the sign-in that it requires. */
export function useFailure(show: (text: string) => void): (error: unknown) => void {
  const leadToSignIn = useContext(LeadToSignIn)
  return (error) => {
    if (hasLeft()) tellFailure(error)
    else if (leadToSignIn && error instanceof SignInAgainError) leadToSignIn()
    else show(messageOf(error))
  }
}

/** Why something failed, and what the person can do. */
export function messageOf(error: unknown): string {
  const text = error instanceof ApiError ? refusalOf(error) : knownText(error)
  if (text !== undefined) return text
  console.warn(error)
  return say.failure.unknown
}

function knownText(error: unknown): string | undefined {
  if (error instanceof UserFacingError) return sentence(error.message)
  if (error instanceof OfflineError) return noAnswerText(error)
  if (error instanceof SignedOutError) return say.failure.signedOut
  if (error instanceof SignInAgainError) return say.failure.signInAgain
  if (error instanceof StorageFullError) return say.failure.storageFull
  if (error instanceof UnsupportedError) return say.failure.unsupported
  if (error instanceof StoreBlockedError) return say.failure.blocked
  if (error instanceof StoreVersionError) return say.failure.tabOutdated
  if (error instanceof BackupFailedError) return say.failure.backupFailed
  if (error instanceof KeyringError) return say.failure.keyring[error.fault]
  if (error instanceof RecordError) return say.failure.record[error.fault]
  if (error instanceof ExportError) return backupFault(error)
  if (error instanceof RollbackError) return say.failure.wentBack
  if (error instanceof UnsentChangesError) return say.failure.unsent(error.count)
  if (error instanceof VaultExistsError) return say.failure.vaultExists
  if (!(error instanceof DOMException)) return undefined
  if (error.name === 'SecurityError') return say.failure.storageRefused
  return /^Not(Found|Readable)Error$/.test(error.name) ? say.failure.fileUnreadable : undefined
}

/** The text for a call without the service's answer. If a proxy answers with 5xx, the service may be down. */
function noAnswerText({ status }: OfflineError): string {
  if (status === undefined) return say.failure.noAnswer
  if (status === 429) return say.failure.refused.TooManyRequests ?? ''
  return status >= 500 ? say.failure.serviceFault(undefined) : say.failure.otherAnswered
}

/** The text for a backup that does not open. Other faults are damage: `passphrase-needed` and `no-keyring` do not get here. */
function backupFault({ fault }: ExportError): string {
  const faults: Partial<Record<ExportFault, string>> = say.failure.backup
  return faults[fault] ?? say.failure.backup.damaged
}

/** The text for a refused call. For a fault of the service (5xx), it has the request's id, which is also in its log. */
function refusalOf({ code, message, status, requestId }: ApiError): string {
  if (message === ForbiddenOrigin[1]) return say.failure.foreignOrigin(location.origin)
  if (status >= 500) return say.failure.serviceFault(requestId)
  return say.failure.refused[code ?? ''] ?? say.failure.refusedOtherwise(sentence(message))
}

export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
