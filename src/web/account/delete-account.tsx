import { useEffect, useState } from 'preact/hooks'
import { type AccountOptions, openAccount, SignInAgainError } from '../../client/account.ts'
import { useApp } from '../app/context.ts'
import { go, hrefOf, readRoute } from '../app/route.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Field, Form } from '../ui/form.tsx'
import { AskToSignIn } from './carefully.tsx'

/** @param isAsked the person comes back from signing in again, to delete it */
export function DeleteAccount({ isAsked }: { isAsked: boolean }) {
  const app = useApp()
  useEffect(() => {
    if (isAsked) confirmDeletion(app)
  }, [isAsked])
  return (
    <section class="panel" id="account-delete" aria-labelledby="delete-title">
      <h2 id="delete-title">Delete my account</h2>
      <p>
        Everything of yours goes from the service and from this browser. Save a{' '}
        <a href={hrefOf('settings')}>bookmark file or a backup</a> before, if you want to keep your bookmarks.
      </p>
      <div class="bar">
        <Button look="danger" onClick={() => confirmDeletion(app)}>
          Delete my account…
        </Button>
      </div>
    </section>
  )
}

/** Asks before the account goes for good. It takes no keys. */
export function confirmDeletion(owner: AccountOptions): void {
  showDialog((close) => {
    const end = () => {
      close()
      if (isDeletionAsked()) go('account', '', { replace: true })
    }
    return <DeletionForm owner={owner} close={end} />
  })
}

const word = 'delete'

function DeletionForm({ owner, close }: { owner: AccountOptions; close: () => void }) {
  const [mustSignIn, setMustSignIn] = useState(false)
  const [fault, setFault] = useState<string>()
  const submit = async ({ typed = '' }: Record<string, string>) => {
    if (typed.trim().toLowerCase() !== word) return setFault(`Type the word “${word}”`)
    try {
      await deleteAccount(owner)
    } catch (error) {
      if (!(error instanceof SignInAgainError)) throw error
      setMustSignIn(true)
    }
  }
  // The sync has stopped: the page begins anew.
  const cancel = () => (mustSignIn ? location.reload() : close())
  return (
    <Dialog title="Delete my account?" close={cancel}>
      {mustSignIn ? (
        <AskToSignIn client={owner.client} to={deletionAddress} cancel={cancel}>
          Nothing was deleted yet.
        </AskToSignIn>
      ) : (
        <Form onSubmit={submit}>
          <p>This goes for good, and nobody can bring it back:</p>
          <ul class="goes">
            <li>all bookmarks and folders, their history, the trash, and backups on the service</li>
            <li>your passphrase and your recovery code</li>
            <li>all sign-ins; other devices keep the copy that they have, but it is no longer in sync</li>
            <li>everything of it in this browser, edits that were not sent included</li>
          </ul>
          <Field
            label={`Type “${word}” to confirm`}
            name="typed"
            autocomplete="off"
            autofocus
            required
            error={fault}
            onInput={() => setFault(undefined)}
          />
          <div class="bar end">
            <Button onClick={cancel}>Cancel</Button>
            <button type="submit" class="button danger">
              <span>Delete everything</span>
            </button>
          </div>
        </Form>
      )}
    </Dialog>
  )
}

/** Afterwards the page loads anew, at an address that says that it is done. */
async function deleteAccount({ client, userId, sync }: AccountOptions): Promise<void> {
  const account = openAccount({
    client,
    userId,
    sync: {
      stop: () => sync.stop(),
      signOut: (options = {}) =>
        sync.signOut({
          ...options,
          async first() {
            await options.first?.()
            localStorage.clear()
            history.replaceState(null, '', hrefOf('deleted'))
          },
        }),
    },
  })
  await account.deleteAccount()
  location.reload()
}

/** Where the person comes back to who had to sign in again, to delete the account. */
const deletionAddress = hrefOf('account', 'delete')

export function isDeletionAsked(): boolean {
  const { view, rest } = readRoute(location.hash)
  return view === 'account' && rest === 'delete'
}
