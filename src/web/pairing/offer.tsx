import { useEffect, useState } from 'preact/hooks'
import { encode } from 'uqr'
import { loadMasterKey } from '../../client/index.ts'
import { offerPairing, PairingError, type PairingFault, type PairingGuest, pairingMs } from '../../client/pair.ts'
import type { App } from '../app/context.ts'
import { go } from '../app/route.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialogs.tsx'
import { messageOf, ToldError } from '../ui/failure.ts'
import { Time } from '../ui/time.tsx'
import { linkOf } from './code.ts'
import { Pictures } from './pictures.tsx'

type Step =
  | { name: 'begun' }
  | { name: 'shown'; link: string }
  | { name: 'scanned'; guest: PairingGuest }
  | { name: 'different' }
  | { name: 'open'; guest: PairingGuest; at: number }
  | { name: 'failed'; text: string; mayBeOpen?: boolean }

/** Shows a code, and lets in whoever has scanned it once the person has compared the pictures. */
export function Offer({ app: { client, userId }, close }: { app: App; close: () => void }) {
  const [step, setStep] = useState<Step>({ name: 'begun' })
  const [turn, setTurn] = useState(0)

  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    const begin = async () => {
      setStep({ name: 'begun' })
      const offer = await offerPairing({ client, userId, signal })
      setStep({ name: 'shown', link: linkOf(offer.code) })
      setStep({ name: 'scanned', guest: await offer.guest() })
    }
    begin().catch((error: unknown) => {
      if (!signal.aborted) setStep({ name: 'failed', text: textOf(error) })
    })
    return () => stop.abort()
  }, [turn])

  const admit = async (guest: PairingGuest) => {
    const masterKey = await loadMasterKey(userId)
    if (!masterKey) throw new ToldError('This browser has no keys to give. Lock it, and open it by the passphrase.')
    try {
      await guest.admit(masterKey)
      setStep({ name: 'open', guest, at: Date.now() })
    } catch (error) {
      setStep({ name: 'failed', text: textOf(error), mayBeOpen: true })
    }
  }
  const leaveTo = (part: string) => {
    close()
    go('account', part)
  }

  return (
    <Dialog title="Pair a phone" close={close}>
      <div class="form pairing">
        {step.name === 'begun' && <p role="status">Making a code…</p>}
        {step.name === 'shown' && <Code link={step.link} />}
        {step.name === 'scanned' && (
          <>
            <p role="status">
              <strong dir="auto">{step.guest.name}</strong> has scanned the code. Does it show these three pictures?
            </p>
            <Pictures of={step.guest.pictures} />
            <div class="bar end">
              <Button onClick={() => setStep({ name: 'different' })}>No, others or none</Button>
              <Button look="primary" onClick={() => admit(step.guest)}>
                Yes, open my bookmarks there
              </Button>
            </div>
          </>
        )}
        {step.name === 'different' && (
          <>
            <p role="alert">
              Then it was not your phone: somebody else has scanned the code who is signed in as you, or can read what
              the service does. Nothing was given away. Sign out all other devices, then try it again where nobody sees
              the screen.
            </p>
            <div class="bar end">
              <Button onClick={() => setTurn(turn + 1)}>Show another code</Button>
              <Button look="primary" onClick={() => leaveTo('others')}>
                Sign out all others…
              </Button>
            </div>
          </>
        )}
        {step.name === 'open' && (
          <>
            <p class="done" role="status">
              Your bookmarks are open on <span dir="auto">{step.guest.name}</span> since <Time at={step.at} isExact />.
            </p>
            <div class="bar end">
              <Button onClick={() => leaveTo('lost')}>That was not me…</Button>
              <Button look="primary" onClick={close}>
                Done
              </Button>
            </div>
          </>
        )}
        {step.name === 'failed' && (
          <>
            <p role="alert">{step.text}</p>
            {step.mayBeOpen && <p>The keys were sent before that. If the bookmarks are open there, all is well.</p>}
            <div class="bar end">
              {step.mayBeOpen && <Button onClick={() => leaveTo('lost')}>That was not me…</Button>}
              <Button look="primary" onClick={() => setTurn(turn + 1)}>
                Show another code
              </Button>
            </div>
          </>
        )}
      </div>
    </Dialog>
  )
}

function textOf(error: unknown): string {
  return error instanceof PairingError ? reasons[error.fault] : messageOf(error)
}

const reasons: Record<PairingFault, string> = {
  malformed: 'The code is not whole.',
  over: 'The two minutes are over, or the other device has stopped.',
  taken: 'Another code was shown since, or somebody else has answered.',
  foreign: 'The other device did not take the keys.',
  altered: 'Something between the two devices has altered what they said. Nothing can be opened with it.',
}

function Code({ link }: { link: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(link)
    setCopied(true)
  }
  return (
    <>
      <p>
        Scan this with your phone’s camera, and sign in there as here. Show it to nobody else. <Countdown key={link} />
      </p>
      <QrCode text={link} />
      <div class="bar">
        <label class="field pairing-link">
          Or open this link there
          <input readOnly value={link} onFocus={({ currentTarget }) => currentTarget.select()} />
        </label>
        <Button onClick={copy}>{isCopied ? 'Copied' : 'Copy'}</Button>
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
    <span role="timer">
      {Math.floor(seconds / 60)}:{`${seconds % 60}`.padStart(2, '0')} left.
    </span>
  )
}

/** Dark on light also in a dark page: many cameras read nothing else. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { ecc: 'M', border: 4 })
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])))
  return (
    <svg class="pairing-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="The code, for a camera">
      <rect width={size} height={size} fill="#ffffff" />
      <path d={dark.join('')} fill="#000000" shape-rendering="crispEdges" />
    </svg>
  )
}
