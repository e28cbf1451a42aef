import { render } from 'preact'
import { getSession } from '../../generated/paths.ts'
import { createClient } from '../client/index.ts'
import { thisDevice } from './app/device.ts'
import { send } from './app/network.ts'
import { Root, StartFailure } from './app/root.tsx'
import { comeBack, lockWithOtherTabs } from './app/session.ts'
import { keepForOffline } from './offline/register.ts'

/** From the start of the page to its first exchange, on a slow device too. Later, somebody else may be signed in. */
const freshMs = 15_000

const page = document.querySelector('#page') as HTMLElement
page.replaceChildren()
try {
  start()
} catch (error) {
  render(<StartFailure error={error} again={() => location.reload()} />, page)
}

/** @throws DOMException the browser lets this site store nothing */
function start(): void {
  const device = thisDevice()
  const client = createClient({ baseUrl: location.origin, deviceId: device.id, fetch: askOnce(send) })
  comeBack()
  render(<Root client={client} device={device} />, page)
  keepForOffline()
  lockWithOtherTabs()
}

/**
 * Asks only once who is signed in when the page is loaded: the page needs the answer to know whose bookmarks to open, and
 * the sync before its first exchange.
 */
function askOnce(send: (request: Request) => Promise<Response>): typeof send {
  let asked: { answer: Response; at: number } | undefined
  return async (request) => {
    if (new URL(request.url).pathname !== getSession) return send(request)
    if (!asked) {
      const answer = await send(request)
      if (answer.ok) asked = { answer: answer.clone(), at: performance.now() }
      return answer
    }
    const { answer, at } = asked
    return answer.bodyUsed || performance.now() - at > freshMs ? send(request) : answer
  }
}
