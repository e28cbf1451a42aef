import { createContext } from 'preact'
import { tell } from './tell.ts'

/** Shows why something did not work: at the bottom of the page or, inside a dialog or a form, there. */
export const ShowFailure = createContext((error: unknown) => tell(messageOf(error), { isAlert: true }))

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
