import { useEffect, useState } from 'preact/hooks'
import type { Vault } from '../../client/index.ts'
import { PairingError, type PairingFault, type PairingPictures, takePairing } from '../../client/pair.ts'
import { browserOf } from '../app/device.ts'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'
import type { VaultOwner } from '../vault/credentials.tsx'
import { Pictures } from './pictures.tsx'

interface TakeProps {
  /** The one that was scanned. */
  code: string
  owner: VaultOwner
  opened: (vault: Vault) => Promise<unknown>
  /** Opens the vault in another way. */
  leave: () => void
}

/** On the phone: waits until the person has let it in on the device that showed the code. */
export function Take({ code, owner: { client, userId }, opened, leave }: TakeProps) {
  const [pictures, setPictures] = useState<PairingPictures>()
  const [isCompared, setCompared] = useState(false)
  const [{ promise: compared, resolve: say }] = useState(() => Promise.withResolvers<void>())
  const [failure, setFailure] = useState<string>()
  const [stop] = useState(() => new AbortController())
  const { signal } = stop
  useEffect(() => {
    const name = browserOf(navigator.userAgent) || 'A browser'
    const compare = (pictures: PairingPictures) => {
      setPictures(pictures)
      return compared
    }
    takePairing({ client, userId, code, name, signal, compare })
      .then(opened)
      .catch((error: unknown) => {
        if (!signal.aborted) setFailure(error instanceof PairingError ? reasons[error.fault] : messageOf(error))
      })
    return () => stop.abort()
  }, [])
  return (
    <div class="form">
      <h1>{failure === undefined ? 'Open your bookmarks here' : 'This did not work'}</h1>
      {failure !== undefined && <p role="alert">{failure}</p>}
      {failure === undefined && !pictures && <p role="status">Asking the other device…</p>}
      {failure === undefined && pictures && (
        <>
          <p role="status">
            {isCompared
              ? 'Now let this device in on the other one.'
              : 'Does your other device, where your bookmarks are open, show these three pictures?'}
          </p>
          <Pictures of={pictures} />
        </>
      )}
      <div class="bar">
        {failure === undefined && pictures && !isCompared && (
          <>
            <Button
              look="primary"
              onClick={() => {
                setCompared(true)
                say()
              }}
            >
              Yes, the same
            </Button>
            <Button
              onClick={() => {
                stop.abort()
                setFailure(different)
              }}
            >
              No, others or none
            </Button>
          </>
        )}
        <Button onClick={leave}>Use the passphrase instead</Button>
      </div>
    </div>
  )
}

const different =
  'Then it is not your device that has answered, and nothing was taken from it. Say No there, too, and use no link that somebody has sent you.'

const reasons: Record<PairingFault, string> = {
  malformed: 'This link is not whole. Scan the code once more.',
  over: 'The code is over, or belongs to another account. Show a new one on the other device, and scan that.',
  taken: 'Another device was faster with this code. Show a new one on the other device, and scan that.',
  foreign: 'The other device has sent keys that open none of your bookmarks, so they were not taken.',
  altered: 'Something between the two devices has altered what they said, so nothing was opened. Show a new code.',
}
