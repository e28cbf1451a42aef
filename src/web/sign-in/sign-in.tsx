import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { loginFailures } from '../../../generated/login-failures.ts'
import type { Client } from '../../client/index.ts'
import { isScanned } from '../pairing/code.ts'
import { useRoute } from '../session/route.ts'
import { endLeftSession, reloadPage, signIn } from '../session/session.ts'
import { StoredBookmarks } from '../session/stored.tsx'
import { Button } from '../ui/button.tsx'
import { Form } from '../ui/form.tsx'
import { Logo } from '../ui/icons.tsx'
import { LanguageMenu } from '../ui/menu.tsx'
import { say } from '../words/words.ts'

interface SignInProps {
  client: Client
  /** The number of unsent edits in this browser, if the person was signed in on this page until now. */
  waiting?: number
}

export function SignIn({ client, waiting }: SignInProps) {
  const failure = failureIn(location.search)
  const isDeleted = useRoute().view === 'deleted'
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    if (!isScanned()) return
    const reserved = import('../pairing/reserve.ts').then(({ reserveScanned }) => reserveScanned(client))
    // If no response comes, the scanned code may not be reserved. It is valid for two minutes, which may be enough.
    reserved.then(
      (isReserved) => setOver(!isReserved),
      () => {},
    )
  }, [])
  useEffect(() => {
    // Ends a session that was left by an offline sign-out. If this fails, the next sign-in tries again.
    const end = () => void endLeftSession(client).catch(() => {})
    addEventListener('online', end)
    return () => removeEventListener('online', end)
  }, [])
  return (
    <Front>
      {isDeleted && (
        <p class="done" role="status">
          {say.signIn.deleted}
        </p>
      )}
      <h1 class="motto">{say.signIn.motto.flatMap((line) => [<span key={line}>{line}</span>, ' '])}</h1>
      <ul class="promises">
        {say.signIn.promises.map((promise) => (
          <li key={promise}>{promise}</li>
        ))}
      </ul>
      {failure !== undefined && (
        <p class="failure" role="alert">
          {say.signIn.failures[failure]}
        </p>
      )}
      {waiting !== undefined && failure === undefined && !isDeleted && (
        <p role="status">
          {say.signIn.ended} {unsentText(waiting)}
        </p>
      )}
      <StoredBookmarks />
      {isScanned() && <p role="status">{say.signIn.scanned}</p>}
      {isOver && (
        <p class="failure" role="alert">
          {say.signIn.scannedOver}
        </p>
      )}
      <Form onSubmit={() => signIn(client, isDeleted ? { to: '' } : { again: isBarred(failure) })}>
        <Button type="submit" look="primary" class="large">
          {say.signIn.signIn}
        </Button>
      </Form>
    </Front>
  )
}

/** The failure in the address. Unknown ones count as `failed`, because anybody can make a link to this page. */
export function failureIn(search: string): LoginFailure | undefined {
  const error = new URLSearchParams(search).get('error')
  if (error === null) return undefined
  const names = Object.keys(loginFailures) as LoginFailure[]
  return names.find((name) => loginFailures[name] === error) ?? 'failed'
}

type LoginFailure = keyof typeof loginFailures

/** True if the service refuses this account: without a new password prompt, the provider may choose it again. */
function isBarred(failure: LoginFailure | undefined): boolean {
  return failure === 'disabled' || failure === 'forbidden' || failure === 'closed'
}

function unsentText(count: number): string {
  return count > 0 ? say.signIn.unsentKept(count) : ''
}

interface OtherPersonProps {
  client: Client
  /** The other person's name; empty if the provider did not send one. */
  name: string
  /** The number of unsent edits of the previous person. */
  waiting: number
}

/** Shown to the previous person after somebody else has signed in in the same browser. */
export function OtherPerson({ client, name, waiting }: OtherPersonProps) {
  return (
    <Front>
      <h1>{say.signIn.otherTitle}</h1>
      <p role="status">
        {say.signIn.otherMore(name)} {unsentText(waiting)}
      </p>
      <div class="bar">
        <Button look="primary" onClick={() => signIn(client, { again: true })}>
          {say.signIn.signInAgain}
        </Button>
        <Button onClick={() => reloadPage()}>{say.signIn.goOnAs(name)}</Button>
      </div>
    </Front>
  )
}

/** The page around everything before the bookmarks are open, with a picture that explains the service. */
export function Front({ children }: { children: ComponentChildren }) {
  return (
    <div class="front">
      <header class="front-head">
        <span class="brand">
          <Logo />
          {say.ui.brand}
        </span>
        <div class="bar">
          <LanguageMenu />
          <a href={say.ui.helpAddress}>{say.signIn.howItWorks}</a>
        </div>
      </header>
      <main class="front-main">{children}</main>
      <Picture />
    </div>
  )
}

/** Two devices with the same bookmarks, and between them a server that has only ciphertext. */
function Picture() {
  return (
    <svg class="picture" viewBox="0 0 480 380" role="img" aria-labelledby="picture-title">
      <title id="picture-title">{say.signIn.picture}</title>
      <path class="line" d="M150 150 C150 70 190 62 214 62 M330 150 C330 70 290 62 266 62" />
      <g class="server">
        <rect x="186" y="22" width="108" height="80" rx="14" />
        {ciphertext.map((text, row) => (
          <text key={text} x="240" y={48 + row * 20} text-anchor="middle">
            {text}
          </text>
        ))}
      </g>
      <g class="lock">
        <circle cx="294" cy="102" r="17" />
        <path d="M287 101 h14 v10 h-14 z M290 101 v-4 a4 4 0 0 1 8 0 v4" />
      </g>
      <Screen x={30} y={150} width={240} height={178} />
      <path class="foot" d="M14 340 h272 a10 10 0 0 1 -10 10 h-252 a10 10 0 0 1 -10 -10 z" />
      <Screen x={318} y={150} width={116} height={200} />
    </svg>
  )
}

const ciphertext = ['k8Zt·pQ4', 'x0Rm·Ve1', 'Jw7a·Ls9']

interface ScreenProps {
  x: number
  y: number
  width: number
  height: number
}

function Screen({ x, y, width, height }: ScreenProps) {
  const lines = [0.72, 0.5, 0.62, 0.4]
  return (
    <g class="screen">
      <rect class="frame" x={x} y={y} width={width} height={height} rx="14" />
      {lines.map((share, row) => (
        <g key={share} class={`entry hue-${row}`}>
          <rect x={x + 16} y={y + 22 + row * 36} width="20" height="20" rx="6" />
          <rect x={x + 46} y={y + 24 + row * 36} width={(width - 66) * share} height="7" rx="3.5" />
          <rect class="soft" x={x + 46} y={y + 36 + row * 36} width={(width - 66) * share * 0.6} height="5" rx="2.5" />
        </g>
      ))}
    </g>
  )
}
