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
  /** The address that opens this dialog, as `hrefOf` returns it. The provider leads back to that. */
  to: string
  /** False if a recent sign-in is not always required: the person signs in only after the service has refused. */
  asksFirst?: boolean
}

/**
 * Shows a dialog for an action that cannot be undone. The service requires a recent sign-in for it, so an older one is
 * renewed first, unless `asksFirst` is false. Unsent edits stay in this browser meanwhile.
 */
export function withRecentSignIn(client: Client, options: Options, content: (close: () => void) => VNode): void {
  showDialog((close) => {
    const end = () => {
      close()
      if (location.hash === options.to) go(readRoute(options.to).view, '', { replace: true })
    }
    return <WithRecentSignIn client={client} content={content} close={end} {...options} />
  })
}

interface WithRecentSignInProps extends Options {
  client: Client
  content: (close: () => void) => VNode
  close: () => void
}

type Stage = 'asking' | 'recent' | 'old' | 'became-old'

function WithRecentSignIn({ client, to, asksFirst = true, content, close }: WithRecentSignInProps) {
  const [stage, setStage] = useState<Stage>(asksFirst ? 'asking' : 'recent')
  const current = useRef(stage)
  current.current = stage
  // The dialog of the previous stage calls this, too, when it is replaced. That must not close the next one.
  const closeThis = () => current.current === stage && close()
  const ask = () =>
    void isRecent(client).then(
      (recent) => setStage(recent ? 'recent' : 'old'),
      // If the service does not answer now, the call of the dialog reports that later.
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
      {/* If the response to a first attempt was lost, the change may be in effect although the second was refused. */}
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
  /** A sentence about what has been changed so far. */
  children: string
}

/** Explains why a sign-in is needed, and leads to the provider's page and back. */
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

/** Half of the time for which a sign-in is recent. Choosing a passphrase or printing a code takes minutes. */
const enoughSeconds = quotas.recentSignInSeconds / 2

/** True if the sign-in of this browser stays recent long enough, by the service's clock. */
async function isRecent(client: Client): Promise<boolean> {
  const { recent_sign_in_seconds_left: left } = unwrap(await client.GET('/api/v1/auth/session'))
  // Older instances of the service do not send the time. They refuse the call later, which also leads to the sign-in.
  return !(left < enoughSeconds)
}
