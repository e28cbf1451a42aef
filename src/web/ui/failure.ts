import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { ForbiddenOrigin } from '../../../generated/errors.ts'
import {
  ApiError,
  BackupFailedError,
  BookmarkFileError,
  ExportError,
  KeyringError,
  OfflineError,
  RecordError,
  RollbackError,
  SignedOutError,
  SignInAgainError,
  StorageFullError,
  StoreVersionError,
  UnsentChangesError,
  VaultExistsError,
} from '../../client/errors.ts'
import { tell } from './tell.ts'

/** Its text is a sentence for the person. */
export class ToldError extends Error {}

/** So are the texts of these. All others are written for programs and those who make them. */
const told = [
  ToldError,
  BackupFailedError,
  BookmarkFileError,
  ExportError,
  KeyringError,
  RecordError,
  RollbackError,
  UnsentChangesError,
  VaultExistsError,
]

/** Shows why something did not work: at the bottom of the page or, inside a dialog or a form, there. */
export const ShowFailure = createContext((error: unknown) => tell(messageOf(error), { isAlert: true }))

/** Around what takes a young sign-in: leads the person to one. */
export const LeadToSignIn = createContext<(() => void) | undefined>(undefined)

/** Shows why something did not work, unless the person is led to where it will. */
export function useFailure(show: (text: string) => void): (error: unknown) => void {
  const leadToSignIn = useContext(LeadToSignIn)
  return (error) => (leadToSignIn && error instanceof SignInAgainError ? leadToSignIn() : show(messageOf(error)))
}

/** Why it did not work, and what the person can do. */
export function messageOf(error: unknown): string {
  if (error instanceof OfflineError) return 'The service did not answer. Check the network, then try again.'
  if (error instanceof SignedOutError) return 'You are signed out. Reload the page to sign in again.'
  if (error instanceof SignInAgainError) {
    return 'Nothing was changed: because this cannot be taken back, the service wants a new sign-in. Sign out and in again.'
  }
  if (error instanceof StorageFullError) {
    return 'The storage of this browser is full, so nothing was saved. Free some space on the device, then try again.'
  }
  if (error instanceof DOMException && error.name === 'SecurityError') {
    return 'This browser lets this page store nothing. Allow cookies and other data for it, then try again.'
  }
  if (error instanceof DOMException && /^Not(Found|Readable)Error$/.test(error.name)) {
    return 'The file cannot be read. Look whether it is still there, then choose it again.'
  }
  if (error instanceof StoreVersionError) return 'This tab is out of date, so nothing was saved. Reload the page.'
  if (error instanceof ApiError && error.message === ForbiddenOrigin[1]) {
    return `The service refuses pages from ${location.origin}. Open the address that its operator gave you, or ask for this one to be allowed.`
  }
  if (error instanceof ApiError && error.status >= 500) return faultOf(error)
  if (error instanceof ApiError) return `${sentence(error.message)}${error.status === 429 ? waitAdvice : ''}`
  if (error instanceof Error && told.some((kind) => error instanceof kind)) return sentence(error.message)
  console.warn(error)
  return 'Something went wrong in this page. Reload it, then try again.'
}

const waitAdvice = ' Wait a minute, then try again.'

/** A fault in the service itself is for its operator to find by the request's id. */
function faultOf({ requestId }: ApiError): string {
  const id = requestId === undefined ? '' : ` (request ${requestId})`
  return `The service has a problem${id}. Try again in a moment.`
}

export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
