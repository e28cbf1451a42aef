import { useEffect, useState } from 'preact/hooks'
import type { Vault } from '../../client/index.ts'
import { cancelPairing, PairingError, type PairingPictures, takePairing } from '../../client/pair.ts'
import { browserOf } from '../session/device.ts'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'
import type { VaultOwner } from '../vault/credentials.tsx'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { type Attempt, forgetCode } from './code.ts'
import { Pictures } from './pictures.tsx'

interface TakeProps extends Attempt {
  owner: VaultOwner
  opened: (vault: Vault) => Promise<unknown>
  /** Shows the other ways of opening the vault. */
  leave: () => void
}

/** Shown on the phone: waits until the person admits the phone on the device that showed the code. */
export function Take({ code, isAgain, owner: { client, userId }, opened, leave }: TakeProps) {
  const [pictures, setPictures] = useState<PairingPictures>()
  const [isCompared, setCompared] = useState(false)
  const [{ promise: compared, resolve: confirm }] = useState(() => Promise.withResolvers<void>())
  const [failure, setFailure] = useState<string>()
  const [stop] = useState(() => new AbortController())
  const { signal } = stop
  useEffect(() => {
    const name = browserOf(navigator.userAgent) || say.app.browser
    const compare = (pictures: PairingPictures) => {
      setPictures(pictures)
      return compared
    }
    takePairing({ client, userId, code, name, signal, compare })
      .then(opened)
      .catch((error: unknown) => {
        if (signal.aborted) return
        forgetCode()
        if (!(error instanceof PairingError)) return setFailure(messageOf(error))
        // The other device still waits for the pairing that this tab began before the reload.
        const isReloaded = isAgain && error.fault === 'taken'
        if (isReloaded) cancelPairing({ client, userId, code }).catch(() => {})
        setFailure(isReloaded ? later.pairing.reloaded : later.pairing.takeFaults[error.fault])
      })
    return () => {
      forgetCode()
      stop.abort()
    }
  }, [])
  return (
    <div class="form">
      <h1>{failure === undefined ? later.pairing.openHere : later.pairing.failed}</h1>
      {failure !== undefined && <p role="alert">{failure}</p>}
      {failure === undefined && !pictures && <p role="status">{later.pairing.asking}</p>}
      {failure === undefined && pictures && (
        <>
          <p role="status">{isCompared ? later.pairing.letIn : later.pairing.compare}</p>
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
                confirm()
              }}
            >
              {later.pairing.yesSame}
            </Button>
            <Button
              onClick={() => {
                forgetCode()
                stop.abort()
                setFailure(later.pairing.takenFromOther)
              }}
            >
              {later.pairing.different}
            </Button>
          </>
        )}
        <Button onClick={leave}>{later.pairing.usePassphrase}</Button>
      </div>
    </div>
  )
}
