import { useEffect, useState } from 'preact/hooks'
import { hasVault, openVault, type Vault, VaultExistsError } from '../../client/index.ts'
import type { Device } from '../app/device.ts'
import { Front } from '../sign-in/front.tsx'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'
import { Form, Submit } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { Waiting } from '../ui/waiting.tsx'
import { CreateVault } from './create-vault.tsx'
import { CredentialFields, tryCredentials } from './credentials.tsx'
import { LostBoth } from './lost-both.tsx'
import type { VaultOwner } from './owner.ts'
import { SignedInAs } from './signed-in-as.tsx'

interface DoorProps {
  owner: VaultOwner
  device: Device
  /** Resolves once the bookmarks are shown: until then, the vault cannot be opened again. */
  opened: (vault: Vault) => Promise<unknown>
}

/** Asks for what opens the person's vault; on their first device, for what creates it. */
export function VaultDoor({ owner, device, opened }: DoorProps) {
  const [exists, setExists] = useState<boolean>()
  const [failure, setFailure] = useState<string>()
  const look = () => {
    setFailure(undefined)
    hasVault(owner.client).then(setExists, (error: unknown) => setFailure(messageOf(error)))
  }
  useEffect(look, [])
  const open = async (fields: Record<string, string>) => {
    await opened(await tryCredentials(owner.userId, fields, (credentials) => openVault(owner.client, credentials)))
  }
  const existsAlready = (error: VaultExistsError) => {
    tell(error.message, { isAlert: true })
    setExists(true)
  }
  return (
    <Front>
      {failure !== undefined && (
        <p role="alert">
          {failure} <Button onClick={look}>Try again</Button>
        </p>
      )}
      {exists === undefined && failure === undefined && <Waiting again={look} />}
      {exists === true && (
        <Form onSubmit={open}>
          <h1>Open your bookmarks</h1>
          <CredentialFields owner={owner} />
          <Submit>Open</Submit>
        </Form>
      )}
      {exists === false && (
        <CreateVault
          owner={owner}
          created={opened}
          failed={(error) => {
            if (!(error instanceof VaultExistsError)) throw error
            existsAlready(error)
          }}
        />
      )}
      <SignedInAs {...owner} device={device} />
      {exists === true && <LostBoth owner={owner} device={device} />}
    </Front>
  )
}
