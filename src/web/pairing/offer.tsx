import { useEffect, useRef, useState } from 'preact/hooks'
import { encode } from 'uqr'
import { loadMasterKey } from '../../client/index.ts'
import { offerPairing, PairingError, type PairingGuest, pairingMs } from '../../client/pair.ts'
import type { App } from '../session/context.ts'
import { go } from '../session/route.ts'
import { Button, CopyButton } from '../ui/button.tsx'
import { Dialog } from '../ui/dialogs.tsx'
import { messageOf, UserFacingError } from '../ui/failure.ts'
import { tellIfLeft } from '../ui/tell.ts'
import { Waiting } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { fill, say } from '../words/words.ts'
import { linkOf } from './code.ts'
import { Pictures } from './pictures.tsx'

type Step =
  | { name: 'begun' }
  | { name: 'shown'; link: string }
  | { name: 'reserved' }
  | { name: 'scanned'; guest: PairingGuest }
  | { name: 'different' }
  | { name: 'open'; guest: PairingGuest }
  | { name: 'failed'; error: unknown; mayBeOpen?: boolean }

/** Shows a code. Admits the device that has scanned it when the person confirms that the pictures are the same. */
export function Offer({ app: { client, userId }, close }: { app: App; close: () => void }) {
  const [step, setStep] = useState<Step>({ name: 'begun' })
  const [attempt, setAttempt] = useState(0)
  const stop = useRef<AbortController>(null)

  useEffect(() => {
    const attemptStop = new AbortController()
    stop.current = attemptStop
    const { signal } = attemptStop
    const begin = async () => {
      setStep({ name: 'begun' })
      const onReserved = () => setStep({ name: 'reserved' })
      const offer = await offerPairing({ client, userId, signal, onReserved })
      setStep({ name: 'shown', link: linkOf(offer.code, userId) })
      const guest = await offer.guest()
      setStep({ name: 'scanned', guest })
      await guest.admitted()
    }
    begin().catch((error: unknown) => {
      if (!signal.aborted) setStep({ name: 'failed', error })
    })
    return () => attemptStop.abort()
  }, [attempt])

  const admit = async (guest: PairingGuest) => {
    const masterKey = await loadMasterKey(userId)
    if (!masterKey) throw new UserFacingError(later.pairing.noKeys)
    try {
      await guest.admit(masterKey)
      setStep({ name: 'open', guest })
      tellIfLeft(later.pairing.admitted(guest.name))
    } catch (error) {
      tellIfLeft(later.pairing.sentBefore)
      setStep({ name: 'failed', error, mayBeOpen: true })
    }
  }
  const refuse = () => {
    stop.current?.abort()
    setStep({ name: 'different' })
  }
  const leaveTo = (part: string) => {
    close()
    go('account', part)
  }

  return (
    <Dialog title={say.app.pairPhone} close={close}>
      <div class="form pairing">
        {step.name === 'begun' && <Waiting again={() => setAttempt(attempt + 1)} />}
        {step.name === 'shown' && <Code link={step.link} />}
        {step.name === 'reserved' && (
          <>
            <p role="status">{later.pairing.reserved}</p>
            <div class="bar end">
              <Button onClick={() => setAttempt(attempt + 1)}>{later.pairing.another}</Button>
            </div>
          </>
        )}
        {step.name === 'scanned' && (
          <>
            <p role="status">{fill(later.pairing.hasScanned, { b: <strong dir="auto">{step.guest.name}</strong> })}</p>
            <Pictures of={step.guest.pictures} />
            <div class="bar end">
              <Button onClick={refuse}>{later.pairing.different}</Button>
              <Button look="primary" onClick={() => admit(step.guest)}>
                {later.pairing.same}
              </Button>
            </div>
          </>
        )}
        {step.name === 'different' && (
          <>
            <p role="alert">{later.pairing.notYours}</p>
            <div class="bar end">
              <Button onClick={() => setAttempt(attempt + 1)}>{later.pairing.another}</Button>
              <Button look="primary" onClick={() => leaveTo('others')}>
                {later.account.signOutOthers}
              </Button>
            </div>
          </>
        )}
        {step.name === 'open' && (
          <>
            <p class="done" role="status">
              {fill(later.pairing.canOpen, { name: <span dir="auto">{step.guest.name}</span> })}
            </p>
            <div class="bar end">
              <Button onClick={() => leaveTo('lost')}>{later.pairing.notMe}</Button>
              <Button look="primary" onClick={close}>
                {later.pairing.done}
              </Button>
            </div>
          </>
        )}
        {step.name === 'failed' && (
          <>
            <p role="alert">{textOf(step.error)}</p>
            {step.mayBeOpen && <p>{later.pairing.sentBefore}</p>}
            <div class="bar end">
              {step.mayBeOpen && <Button onClick={() => leaveTo('lost')}>{later.pairing.notMe}</Button>}
              {!step.mayBeOpen && isSuspect(step.error) && (
                <Button onClick={() => leaveTo('others')}>{later.account.signOutOthers}</Button>
              )}
              <Button look="primary" onClick={() => setAttempt(attempt + 1)}>
                {later.pairing.another}
              </Button>
            </div>
          </>
        )}
      </div>
    </Dialog>
  )
}

function textOf(error: unknown): string {
  return error instanceof PairingError ? later.pairing.offerFaults[error.fault] : messageOf(error)
}

/** True if the reason may be an attacker, who scanned the code first or changed a message in between. */
function isSuspect(error: unknown): boolean {
  return error instanceof PairingError && (error.fault === 'altered' || error.fault === 'taken')
}

function Code({ link }: { link: string }) {
  return (
    <>
      <p>{fill(later.pairing.scanThis, { time: <Countdown key={link} /> })}</p>
      <QrCode text={link} />
      <div class="bar">
        <label class="field">
          {later.pairing.orLink}
          <input readOnly value={link} onFocus={({ currentTarget }) => currentTarget.select()} />
        </label>
        <CopyButton text={link} />
      </div>
    </>
  )
}

function Countdown() {
  const [left, setLeft] = useState(pairingMs)
  useEffect(() => {
    const end = performance.now() + pairingMs
    const timer = setInterval(() => setLeft(Math.max(0, end - performance.now())), 1000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.ceil(left / 1000)
  return (
    <span role="timer">{later.pairing.left(`${Math.floor(seconds / 60)}:${`${seconds % 60}`.padStart(2, '0')}`)}</span>
  )
}

/** A QR code, dark on light even in dark mode, because many cameras read nothing else. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { ecc: 'M', border: 4 })
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])))
  return (
    <svg class="pairing-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={later.pairing.code}>
      <rect width={size} height={size} fill="#ffffff" />
      <path d={dark.join('')} fill="#000000" shape-rendering="crispEdges" />
    </svg>
  )
}
