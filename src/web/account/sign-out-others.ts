import type { Account } from '../../client/account.ts'
import { confirmFirst } from '../ui/confirm.tsx'
import { tell } from '../ui/tell.ts'

/** @param text what it means to this person */
export function confirmSignOutOthers(account: Account, text: string, changed: () => void): void {
  confirmFirst({
    title: 'Sign out everywhere else?',
    text,
    action: 'Sign out all others',
    run: async () => {
      await account.signOutOthers()
      tell('Signed out everywhere else')
      changed()
    },
  })
}
