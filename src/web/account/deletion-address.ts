import { hrefOf, readRoute } from '../app/route.ts'

/** Where the person comes back to who had to sign in again, to delete the account. */
export const deletionAddress = hrefOf('account', 'delete')

export function isDeletionAsked(): boolean {
  const { view, rest } = readRoute(location.hash)
  return view === 'account' && rest === 'delete'
}
