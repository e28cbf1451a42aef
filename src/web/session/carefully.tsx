import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { quotas } from '../../../generated/limits.ts'
import { type Client, unwrap } from '../../client/index.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { LeadToSignIn } from '../ui/failure.ts'
import { Waiting } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { go, readRoute } from './route.ts'
import { signIn } from './session.ts'

interface Options {
  /** The view whose address opens this dialog, as `hrefOf` returns it: the person comes back there. */
  to: string
  /** False if a recent sign-in is not always required. The person is then only led to one after the service has refused. */
  asksFirst?: boolean
}

/**
 * Shows a dialog for what cannot be undone. The service requires a recent sign-in for that, so an older one is renewed before
 * the person types anything. Unsent edits stay in this browser meanwhile.
 */
export function showCarefully(client: Client, options: Options, content: (close: () => void) => VNode): void {
  showDialog((close) => {
    const end = () => {
      close()
      if (location.hash === options.to) go(readRoute(options.to).view, '', { replace: true })
    }
    return <Careful client={client} content={content} close={end} {...options} />
  })
}

interface CarefulProps extends Options {
  client: Client
  content: (close: () => void) => VNode
  close: () => void
}

type Stage = 'asking' | 'recent' | 'old' | 'became-old'

function Careful({ client, to, asksFirst = true, content, close }: CarefulProps) {
  const [stage, setStage] = useState<Stage>(asksFirst ? 'asking' : 'recent')
  const current = useRef(stage)
  current.current = stage
  // One that gives way to the next tells that it was closed, too.
  const closeThis = () => current.current === stage && close()
  const ask = () =>
    void isRecent(client).then(
      (recent) => setStage(recent ? 'recent' : 'old'),
      // The dialog's own call will report what is wrong.
      () => setStage('recent'),
    )
  useEffect(() => {
    if (asksFirst) ask()
  }, [])
  if (stage === 'recent') {
    return <LeadToSignIn.Provider value={() => setStage('became-old')}>{content(closeThis)}</LeadToSignIn.Provider>
  }
  return (
    <Dialog key={stage} title={later.account.signInAgain} close={closeThis}>
      {/* An answer may have been lost before: then what the person chose counts, although a second attempt was refused. */}
      {stage === 'asking' ? (
        <Waiting again={ask} />
      ) : (
        <AskToSignIn client={client} to={to} cancel={closeThis}>
          {stage === 'old' ? later.account.nothingChanged : later.account.maybeChanged}
        </AskToSignIn>
      )}
    </Dialog>
  )
}

interface AskProps {
  client: Client
  to: string
  cancel: () => void
  /** The outcome so far. */
  children: string
}

/** Says why, and leads to the provider's page, which leads back. */
export function AskToSignIn({ client, to, cancel, children }: AskProps) {
  return (
    <div class="form">
      <p role="status">
        {children} {later.account.whySignIn}
      </p>
      <div class="bar end">
        <Button onClick={cancel}>{say.ui.cancel}</Button>
        <Button look="primary" onClick={() => signIn(client, { again: true, to })} autofocus>
          {later.account.signInAgain}
        </Button>
      </div>
    </div>
  )
}

/** Half of the time that a sign-in stays recent. A person needs minutes to choose a passphrase, or to print a recovery code. */
const enoughSeconds = quotas.recentSignInSeconds / 2

/** True if the sign-in of this browser stays recent until the person is done. The service's clock decides. */
async function isRecent(client: Client): Promise<boolean> {
  const { recent_sign_in_seconds_left: left } = unwrap(await client.GET('/api/v1/auth/session'))
  // An older instance sends nothing. It refuses the call itself, and that leads to the sign-in, too.
  return !(left < enoughSeconds)
}
