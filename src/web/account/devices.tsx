import { useDeviceName } from '../app/device-name.ts'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { Button } from '../ui/button.tsx'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { useAccount } from './use-account.ts'

interface DevicesProps {
  turn: number
  changed: () => void
}

/** What keeps a copy of the bookmarks, the last seen first. */
export function Devices({ turn, changed }: DevicesProps) {
  const account = useAccount()
  const nameOfDevice = useDeviceName()
  const devices = useLoaded(() => account.devices(), [turn])
  const forget = async (id: string) => {
    await account.forgetDevice(id)
    tell(`${nameOfDevice(id)} is off the list. If it syncs again, it is listed again.`)
    changed()
  }
  return (
    <section class="panel" aria-labelledby="devices-title">
      <h2 id="devices-title">Devices</h2>
      <p class="hint">Each keeps a copy of your bookmarks.</p>
      <Answer of={devices}>
        {(devices) => (
          <ul class="plain lines">
            {devices
              .toSorted((one, other) => Number(other.current) - Number(one.current) || other.lastSeen - one.lastSeen)
              .map(({ id, lastSeen, pendingChanges, current }) => (
                <li key={id} class="line" data-device={id}>
                  <div class="row-text">
                    <span class="line-name">
                      {nameOfDevice(id)}
                      {current && <span class="badge">This one</span>}
                    </span>
                    <span class="hint">
                      Last seen <Time at={lastSeen} isExact />
                    </span>
                    <span class="hint">{waitingText(pendingChanges)}</span>
                  </div>
                  {!current && (
                    <Button aria-label={`Forget ${nameOfDevice(id)}`} onClick={() => forget(id)}>
                      Forget
                    </Button>
                  )}
                </li>
              ))}
          </ul>
        )}
      </Answer>
    </section>
  )
}

function waitingText(count: number): string {
  if (count === 0) return 'It has everything'
  return count === 1 ? '1 change waits for it' : `${count.toLocaleString()} changes wait for it`
}
