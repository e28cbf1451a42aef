import { useMemo } from 'preact/hooks'
import { type Account, type AccountDevice, mostDeviceName, openAccount } from '../../client/account.ts'
import { showPairing } from '../pairing/show.tsx'
import { kindOfDevice, useApp } from '../session/context.ts'
import { Answer, type Loaded, useLoaded } from '../session/loaded.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Field, Form, FormEnd } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'

export function useAccount(): Account {
  const app = useApp()
  return useMemo(() => openAccount(app), [app])
}

/** Returns a function that names a device by its id: as the person named it, or by its kind. Loads the names only once. */
export function useDeviceName(): (id: string) => string {
  const account = useAccount()
  return useNames(useLoaded(() => account.devices(), []))
}

function useNames(devices: Loaded<AccountDevice[]>): (id: string) => string {
  const { client } = useApp()
  const names = new Map(devices.value?.map(({ id, name }) => [id, name]))
  return (id) => names.get(id) ?? (id === client.deviceId() ? say.app.thisBrowser : kindOfDevice(id))
}

interface DevicesProps {
  reloads: number
  changed: () => void
}

/** The devices that have a copy of the bookmarks: this one first, then the most recently active ones. */
export function Devices({ reloads, changed }: DevicesProps) {
  const app = useApp()
  const account = useAccount()
  const devices = useLoaded(() => account.devices(), [reloads])
  const nameOfDevice = useNames(devices)
  const forget = async (id: string) => {
    await account.forgetDevice(id)
    tell(later.account.forgotten(nameOfDevice(id)))
    changed()
  }
  const rename = (device: AccountDevice) =>
    showDialog((close) => (
      <Rename device={device} shown={nameOfDevice(device.id)} account={account} renamed={devices.load} close={close} />
    ))
  return (
    <section class="panel" aria-labelledby="devices-title">
      <h2 id="devices-title">{say.app.devices}</h2>
      <p class="hint">{later.account.devicesMore}</p>
      {app.device.keepsKey && (
        <div class="bar">
          <Button onClick={() => showPairing(app)}>{later.account.pairPhone}</Button>
        </div>
      )}
      <Answer of={devices}>
        {(devices) => (
          <ul class="plain lines">
            {devices
              .toSorted((one, other) => Number(other.current) - Number(one.current) || other.lastSeen - one.lastSeen)
              .map((device) => (
                <li key={device.id} class="line" data-device={device.id}>
                  <div class="row-text">
                    <span class="line-name">
                      <span dir="auto">{nameOfDevice(device.id)}</span>
                      {device.current && <span class="badge">{later.account.thisOne}</span>}
                    </span>
                    {device.name !== undefined && <span class="hint">{kindOfDevice(device.id)}</span>}
                    <span class="hint">
                      {fill(later.account.lastSeen, { time: <Time at={device.lastSeen} isExact /> })}
                    </span>
                    <span class="hint">{waitingText(device.pendingChanges)}</span>
                  </div>
                  <div class="bar end">
                    {!device.current && (
                      <Button
                        aria-label={later.account.forgetName(nameOfDevice(device.id))}
                        onClick={() => forget(device.id)}
                      >
                        {later.account.forget}
                      </Button>
                    )}
                    <Button
                      aria-label={later.account.renameName(nameOfDevice(device.id))}
                      onClick={() => rename(device)}
                    >
                      {say.sidebar.rename}
                    </Button>
                  </div>
                </li>
              ))}
          </ul>
        )}
      </Answer>
    </section>
  )
}

function waitingText(count: number): string {
  return count === 0 ? later.account.hasEverything : later.account.waiting(count)
}

interface RenameProps {
  device: AccountDevice
  /** The device's name or, if it has none, its kind. */
  shown: string
  account: Account
  renamed: () => Promise<unknown>
  close: () => void
}

function Rename({ device: { id, name = '' }, shown, account, renamed, close }: RenameProps) {
  const rename = async ({ name = '' }: Record<string, string>) => {
    await account.renameDevice(id, name.trim())
    await renamed()
    close()
  }
  return (
    <Dialog title={later.account.renameName(shown)} close={close}>
      <Form onSubmit={rename}>
        <Field
          label={say.library.newName}
          name="name"
          autocomplete="off"
          maxLength={mostDeviceName}
          defaultValue={name}
          autofocus
          hint={later.account.renameHint}
        />
        <FormEnd close={close}>{say.library.rename}</FormEnd>
      </Form>
    </Dialog>
  )
}
