import { useApp } from '../app/context.ts'
import { Button } from '../ui/button.tsx'
import { askToChangeKeys } from './change-keys.tsx'
import { confirmSignOutOthers } from './sign-out-others.ts'
import { useAccount } from './use-account.ts'

/** What to do first, and then, if a device is lost or stolen. */
export function LostDevice({ changed }: { changed: () => void }) {
  const app = useApp()
  const account = useAccount()
  const meaning = 'The lost device gets nothing new from now on. Your other devices have to sign in again.'
  return (
    <section class="panel" id="account-lost" aria-labelledby="lost-title">
      <h2 id="lost-title">Lost a device?</h2>
      <ol class="steps">
        <li>
          <p>
            <strong>Sign it out.</strong> Find it above under “Where you are signed in” or, if you are not sure which
            one it is, sign out all others. It gets nothing new from then on.
          </p>
          <Button onClick={() => confirmSignOutOthers(account, meaning, changed)}>Sign out all others…</Button>
        </li>
        <li>
          <p>
            <strong>Change the keys.</strong> What you save from then on is encrypted under keys that the lost device
            never had. You choose a passphrase, and get a new recovery code.
          </p>
          <Button onClick={() => askToChangeKeys(app)}>Change the keys…</Button>
        </li>
      </ol>
    </section>
  )
}
