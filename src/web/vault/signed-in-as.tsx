import type { Client } from '../../client/index.ts'
import type { Device } from '../app/device.ts'
import { signOutLocked } from '../app/sign-out.ts'
import { Button } from '../ui/button.tsx'

interface SignedInAsProps {
  client: Client
  device: Device
  userId: string
  person: string
}

/** The way out for somebody who is here with the wrong account, or without a passphrase. */
export function SignedInAs({ client, device, userId, person }: SignedInAsProps) {
  return (
    <p class="bar signed-in-as">
      <span>You are signed in{person !== '' && ` as ${person}`}.</span>
      <Button onClick={() => signOutLocked(client, device, userId)}>Sign out</Button>
    </p>
  )
}
