import type { Client } from '../../client/index.ts'
import { useRoute } from '../app/route.ts'
import { signIn } from '../app/session.ts'
import { Button } from '../ui/button.tsx'
import { Front } from './front.tsx'

export function SignIn({ client }: { client: Client }) {
  const failure = new URLSearchParams(location.search).get('error')
  const isDeleted = useRoute().view === 'deleted'
  return (
    <Front>
      <h1>Your bookmarks, on all your devices, readable by you alone</h1>
      <ul class="promises">
        <li>Each bookmark is encrypted on your device. The server keeps what it cannot read.</li>
        <li>An edit on one device shows on the others at once. Without a network, everything works as well.</li>
        <li>If two devices change the same bookmark, nothing is lost: you decide.</li>
      </ul>
      {isDeleted && (
        <p class="done" role="status">
          Your account is deleted. Nothing of it is left on the service or in this browser.
        </p>
      )}
      {failure !== null && (
        <p class="failure" role="alert">
          {failure}.
        </p>
      )}
      <Button look="primary" class="large" onClick={() => signIn(client)}>
        Sign in
      </Button>
    </Front>
  )
}
