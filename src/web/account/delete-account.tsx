import { useEffect, useState } from 'preact/hooks'
import { type AccountOptions, openAccount, SignInAgainError } from '../../client/account.ts'
import { useApp } from '../session/context.ts'
import { hrefOf, readRoute } from '../session/route.ts'
import { forgetDeletedUser } from '../session/session.ts'
import { AskToSignIn, withRecentSignIn } from '../session/with-recent-sign-in.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialogs.tsx'
import { Field, Form } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'

/** @param isAsked true if the address asks for the deletion, as after the sign-in that it required */
export function DeleteAccount({ isAsked }: { isAsked: boolean }) {
  const app = useApp()
  useEffect(() => {
    if (isAsked) confirmDeletion(app, later.account.savedFiles)
  }, [isAsked])
  return (
    <section class="panel" id="account-delete" aria-labelledby="delete-title">
      <h2 id="delete-title">{later.account.deleteTitle}</h2>
      <p>{fill(later.account.deleteMore, { a: (text) => <a href={hrefOf('settings')}>{text}</a> })}</p>
      <div class="bar">
        <Button look="danger" onClick={() => confirmDeletion(app, later.account.savedFiles)}>
          {later.account.deleteButton}
        </Button>
      </div>
    </section>
  )
}

/**
 * Asks before the account is deleted for good. Works while the vault is locked, too.
 *
 * @param savedFiles what happens to the backups that the person has downloaded
 */
export function confirmDeletion(owner: AccountOptions, savedFiles: string): void {
  withRecentSignIn(owner.client, { to: deletionAddress }, (close) => (
    <DeletionForm owner={owner} savedFiles={savedFiles} close={close} />
  ))
}

interface DeletionFormProps {
  owner: AccountOptions
  savedFiles: string
  close: () => void
}

function DeletionForm({ owner, savedFiles, close }: DeletionFormProps) {
  const [mustSignIn, setMustSignIn] = useState(false)
  const [fault, setFault] = useState<string>()
  const submit = async ({ typed = '' }: Record<string, string>) => {
    if (typed.trim().toLowerCase() !== later.account.deleteWord) {
      return setFault(later.account.typeWord(later.account.deleteWord))
    }
    try {
      await deleteAccount(owner)
    } catch (error) {
      if (!(error instanceof SignInAgainError)) throw error
      setMustSignIn(true)
    }
  }
  // After a refused attempt, the sync has stopped, so the page has to start again.
  const cancel = () => (mustSignIn ? location.reload() : close())
  return (
    <Dialog title={later.account.deleteQuestion} close={cancel}>
      {mustSignIn ? (
        <AskToSignIn client={owner.client} to={deletionAddress} cancel={cancel}>
          {later.account.nothingDeleted}
        </AskToSignIn>
      ) : (
        <Form onSubmit={submit}>
          <p>{later.account.goesForGood}</p>
          <ul class="goes">
            {later.account.goes.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
          <p>{savedFiles}</p>
          <Field
            label={later.account.typeToConfirm(later.account.deleteWord)}
            name="typed"
            autocomplete="off"
            autofocus
            required
            error={fault}
            onInput={() => setFault(undefined)}
          />
          <div class="bar end">
            <Button onClick={cancel}>{say.ui.cancel}</Button>
            <button type="submit" class="button danger">
              <span>{later.account.deleteEverything}</span>
            </button>
          </div>
        </Form>
      )}
    </Dialog>
  )
}

/** Deletes the account. Reloads the page, which confirms that, unless somebody else is signed in by then. */
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
            if (forgetDeletedUser(userId)) history.replaceState(null, '', hrefOf('deleted'))
            else tell(say.signIn.deleted)
          },
        }),
    },
  })
  await account.deleteAccount()
  // A reload would remove the message.
  if (readRoute(location.hash).view === 'deleted') location.reload()
}

/** The address that the provider leads back to if deleting the account required another sign-in. */
const deletionAddress = hrefOf('account', 'delete')

export function isDeletionAsked(): boolean {
  const { view, rest } = readRoute(location.hash)
  return view === 'account' && rest === 'delete'
}
