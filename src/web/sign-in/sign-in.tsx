import { useState } from 'preact/hooks'
import { loginFailures } from '../../../generated/login-failures.ts'
import type { Client } from '../../client/index.ts'
import { useRoute } from '../app/route.ts'
import { signIn } from '../app/session.ts'
import { takeSignedOut } from '../app/signed-out.ts'
import { Button } from '../ui/button.tsx'
import { Form } from '../ui/form.tsx'
import { Front } from './front.tsx'

export function SignIn({ client }: { client: Client }) {
  const failure = failureIn(location.search)
  const isDeleted = useRoute().view === 'deleted'
  const [unsent] = useState(takeSignedOut)
  return (
    <Front>
      {isDeleted && (
        <p class="done" role="status">
          Your account is deleted. Nothing of it is left on the service or in this browser.
        </p>
      )}
      <h1 class="motto">
        <span>Your bookmarks,</span> <span>on all your devices,</span> <span>readable by you alone</span>
      </h1>
      <ul class="promises">
        <li>Each bookmark is encrypted on your device. The server keeps what it cannot read.</li>
        <li>An edit on one device shows on the others at once. Without a network, everything works as well.</li>
        <li>If two devices change the same bookmark, nothing is lost: you decide.</li>
      </ul>
      {failure !== undefined && (
        <p class="failure" role="alert">
          {failure}. {adviceOn(failure)}
        </p>
      )}
      {unsent !== undefined && failure === undefined && !isDeleted && <p role="status">{signedOutText(unsent)}</p>}
      <Form onSubmit={() => signIn(client, isDeleted ? { to: '' } : {})}>
        <Button type="submit" look="primary" class="large">
          Sign in
        </Button>
      </Form>
    </Front>
  )
}

/** Anybody can make a link to this page: no other text is ever shown. */
function failureIn(search: string): string | undefined {
  const error = new URLSearchParams(search).get('error')
  if (error === null) return undefined
  return Object.values(loginFailures).find((message) => message === error) ?? loginFailures.failed
}

function adviceOn(failure: string): string {
  if (failure === loginFailures.disabled) return 'Ask the operator of this service.'
  return failure === loginFailures.unavailable ? 'Try again in a moment.' : 'Sign in once more.'
}

function signedOutText(unsent: number): string {
  const edits = unsent === 1 ? 'One edit' : `${unsent} edits`
  const kept = ` ${edits} that ${unsent === 1 ? 'was' : 'were'} not sent yet ${unsent === 1 ? 'is' : 'are'} kept in this browser.`
  return `Your sign-in has ended: it expired, or you signed out elsewhere.${unsent > 0 ? kept : ''}`
}
