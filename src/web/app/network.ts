import { getSession } from '../../../generated/paths.ts'
import { ApiError, OfflineError, StorageFullError, type Sync, type SyncStatus } from '../../client/index.ts'
import { messageOf, tellFailure } from '../ui/failure.ts'
import { hearTime } from '../ui/service-time.ts'
import { sharedValue } from '../ui/shared-value.ts'
import { dismissText } from '../ui/tell.ts'
import { say } from '../words/words.ts'

/** The page's way to the service, with a switch: to see what happens without a network, nobody has to pull a plug. */
const isCut = sharedValue(false)
const sockets = new Set<WebSocket>()

export const useIsCut = isCut.use

export async function send(request: Request): Promise<Response> {
  if (isCut.get()) throw new OfflineError()
  try {
    const response = await fetch(request)
    hearTime(response.headers.get('date'))
    return response
  } catch (cause) {
    throw cause instanceof TypeError ? new OfflineError(undefined, { cause }) : cause
  }
}

/** From the start of the page to its first exchange, on a slow device too. Later, somebody else may be signed in. */
const freshMs = 15_000

/**
 * Asks only once who is signed in when the page is loaded: the page needs the answer to know whose bookmarks to open, and
 * the sync before its first exchange.
 */
export function askOnce(ask: typeof send): typeof send {
  let kept: { answer: Response | undefined; at: number } | undefined
  return async (request) => {
    if (new URL(request.url).pathname !== getSession) return ask(request)
    if (kept) {
      const { answer, at } = kept
      kept.answer = undefined
      return answer && performance.now() - at <= freshMs ? answer : ask(request)
    }
    const answer = await ask(request)
    if (!answer.ok) return answer
    // A clone would break with the first request's signal, which ends while the person is still typing the passphrase.
    const text = await answer.text()
    kept = { answer: new Response(text, answer), at: performance.now() }
    return new Response(text, answer)
  }
}

export function openWebSocket(url: string): WebSocket {
  const socket = new WebSocket(url)
  sockets.add(socket)
  socket.addEventListener('close', () => sockets.delete(socket))
  if (isCut.get()) socket.close()
  return socket
}

/** The browser's own event tells the sync at once. */
export function takeOffline(cut: boolean): void {
  isCut.set(cut)
  if (cut) for (const socket of sockets) socket.close()
  dispatchEvent(new Event(cut ? 'offline' : 'online'))
}

/** Why nothing can be exchanged at present, as the service or this device said it; undefined once it can. */
const trouble = sharedValue<Error | undefined>(undefined)

export const useTrouble = trouble.use

/** Texts that are no longer true once something can be exchanged. */
const passing = [say.failure.noAnswer, say.app.stillNoRoom, say.app.stillRefused, say.app.stillAway]

/** Says why another attempt has failed, too. */
export function stillText(error: unknown): string {
  if (error instanceof StorageFullError) return say.app.stillNoRoom
  if (error instanceof ApiError) return say.app.stillRefused
  return error instanceof OfflineError ? say.app.stillAway : messageOf(error)
}

/** Tells the trouble of one bookmark once. All other trouble is shown for as long as it lasts. */
export function followTrouble(sync: Sync): void {
  sync.on('error', ({ error, id }) => {
    if (id === undefined) trouble.set(error)
    else if (!sync.quarantined().some((one) => one.id === id)) tellFailure(error)
  })
  sync.on('status', ({ state }) => {
    if (state !== 'online' && state !== 'polling' && state !== 'syncing') return
    trouble.set(undefined)
    passing.forEach(dismissText)
  })
}

/** How many edits are still to be sent. Those that the service has refused wait for the person. */
export function unsentOf({ waiting, quarantined = 0 }: SyncStatus): number {
  return waiting - quarantined
}
