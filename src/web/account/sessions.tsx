import type { AccountSession } from '../../client/account.ts'
import { browserOf } from '../app/browser.ts'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { Button } from '../ui/button.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { confirmSignOutOthers } from './sign-out-others.ts'
import { useAccount } from './use-account.ts'

interface SessionsProps {
  turn: number
  changed: () => void
}

/** Where the person is signed in. A session ends at once, wherever it is. */
export function Sessions({ turn, changed }: SessionsProps) {
  const account = useAccount()
  const sessions = useLoaded(() => account.sessions(), [turn])
  const meaning = 'Every other browser and program has to sign in again. What they have stored stays there.'
  return (
    <section class="panel" aria-labelledby="sessions-title">
      <h2 id="sessions-title">Where you are signed in</h2>
      <Answer of={sessions}>
        {(sessions) => (
          <>
            <ul class="plain lines">
              {sessions
                .toSorted((one, other) => Number(other.current) - Number(one.current))
                .map((session) => (
                  <Session key={session.id} session={session} changed={changed} />
                ))}
            </ul>
            {sessions.length > 1 && (
              <div class="bar">
                <Button onClick={() => confirmSignOutOthers(account, meaning, changed)}>Sign out all others…</Button>
              </div>
            )}
          </>
        )}
      </Answer>
    </section>
  )
}

function Session({ session, changed }: { session: AccountSession; changed: () => void }) {
  const { id, createdAt, lastUsedAt, userAgent, current, sockets } = session
  const account = useAccount()
  const name = browserOf(userAgent) || programOf(userAgent)
  return (
    <li class="line">
      <div class="row-text">
        <span class="line-name">
          {name}
          {current && <span class="badge">This one</span>}
          {!current && sockets > 0 && <span class="badge">Connected</span>}
        </span>
        <span class="hint">
          Signed in <Time at={createdAt} isExact />
        </span>
        {!current && (
          <span class="hint">
            Last used {serviceNow() - lastUsedAt < 2 * 3_600_000 ? 'in the last two hours' : <Time at={lastUsedAt} />}
          </span>
        )}
      </div>
      {!current && (
        <Button
          aria-label={`Sign out ${name}`}
          onClick={async () => {
            await account.endSession(id)
            tell(`${name} is signed out`)
            changed()
          }}
        >
          Sign out
        </Button>
      )}
    </li>
  )
}

function programOf(userAgent: string): string {
  const [name = ''] = userAgent.split(/[\s/]/)
  return name === '' ? 'A browser or program that did not say its name' : `The program ${name}`
}
