import { useEffect, useState } from 'preact/hooks'
import {
  type Client,
  createSync,
  deriveKeys,
  forgetMasterKey,
  type Keys,
  keepMasterKey,
  loadMasterKey,
  type Vault,
} from '../../client/index.ts'
import { watchStoreVersion } from '../offline/store-version.ts'
import { SignIn } from '../sign-in/sign-in.tsx'
import { Dialogs } from '../ui/dialogs.tsx'
import { keepFocus } from '../ui/keep-focus.ts'
import { lazily } from '../ui/lazily.tsx'
import { Toasts } from '../ui/toasts.tsx'
import { Waiting } from '../ui/waiting.tsx'
import type { App } from './context.ts'
import type { Device } from './device.ts'
import { openWebSocket } from './network.ts'
import { findUser, type User } from './session.ts'
import { Shell } from './shell.tsx'
import { leaveWhenSignedOut } from './signed-out.ts'
import { StartFailure } from './start-failure.tsx'
import { followTrouble } from './trouble.ts'

/** How far the page is: nobody signed in, the vault locked, or open. */
type Stage =
  | { name: 'starting' }
  | { name: 'failed'; error: unknown }
  | { name: 'signed out' }
  | { name: 'locked'; user: User }
  | { name: 'open'; app: App }

/** A browser that keeps its keys does without. */
const VaultDoor = lazily(() => import('../vault/vault-door.tsx').then(({ VaultDoor }) => VaultDoor))

interface RootProps {
  client: Client
  device: Device
}

export function Root({ client, device }: RootProps) {
  const [stage, setStage] = useState<Stage>({ name: 'starting' })

  const start = async () => {
    setStage({ name: 'starting' })
    const user = await findUser(client)
    if (!user) return setStage({ name: 'signed out' })
    const kept = device.keepsKey ? await loadMasterKey(user.user_id) : undefined
    if (kept) await open(user, deriveKeys(kept))
    else setStage({ name: 'locked', user })
  }

  const unlock = async (user: User, { keys, masterKey }: Vault) => {
    if (device.keepsKey) await keepMasterKey(user.user_id, masterKey)
    await open(user, keys)
  }

  const open = async ({ user_id: userId, name: person }: User, keys: Keys) => {
    const sync = createSync({
      client,
      keys,
      userId,
      deviceId: device.id,
      webSocket: openWebSocket,
      ...device.open(userId),
    })
    followTrouble(sync)
    leaveWhenSignedOut(sync)
    sync.on('status', ({ reason }) => {
      // Another device has rotated the keys: those that are kept here open nothing new, so the page asks for the passphrase.
      if (reason === 'keys') void attempt(forgetMasterKey(userId).then(() => location.reload()))
    })
    await sync.start()
    if (device.keepsKey) void watchStoreVersion(userId)
    setStage({ name: 'open', app: { client, sync, keys, userId, person, device } })
  }

  const attempt = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error: unknown) => setStage({ name: 'failed', error }))

  useEffect(() => void attempt(start()), [])
  useEffect(() => keepFocus(document.body), [])

  return (
    <>
      {stage.name === 'starting' && <Waiting again={() => location.reload()} />}
      {stage.name === 'failed' && <StartFailure error={stage.error} again={() => attempt(start())} />}
      {stage.name === 'signed out' && <SignIn client={client} />}
      {stage.name === 'locked' && (
        <VaultDoor
          device={device}
          owner={{ client, userId: stage.user.user_id, person: stage.user.name }}
          opened={(vault) => attempt(unlock(stage.user, vault))}
        />
      )}
      {stage.name === 'open' && <Shell app={stage.app} />}
      <Dialogs />
      <Toasts />
    </>
  )
}
