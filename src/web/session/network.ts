import { refreshSession } from '../../../generated/paths.ts'
import { ApiError, OfflineError, StorageFullError, type Sync, type SyncStatus } from '../../client/index.ts'
import { messageOf, tellFailure } from '../ui/failure.ts'
import { updateClockError } from '../ui/service-time.ts'
import { sharedValue } from '../ui/shared-value.ts'
import { dismissText } from '../ui/tell.ts'
import { say } from '../words/words.ts'

/** A switch that cuts the page off from the service, to try what happens without a network. */
const isCut = sharedValue(false)
const sockets = new Set<WebSocket>()

export const useIsCut = isCut.use

export async function send(request: Request): Promise<Response> {
  if (isCut.get()) throw new OfflineError()
  try {
    const response = await fetch(request)
    updateClockError(response.headers.get('date'))
    if (isSessionLost(request, response)) for (const listener of lost) listener()
    return response
  } catch (cause) {
    throw cause instanceof TypeError ? new OfflineError(undefined, { cause }) : cause
  }
}

const lost = new Set<() => void>()

/** Calls the listener when a response shows that the session has ended, or is of another user than the request. */
export function onSessionLost(listener: () => void): void {
  lost.add(listener)
}

function isSessionLost({ url }: Request, { status, headers }: Response): boolean {
  const code = headers.get('x-error-code')
  if (status === 403) return code === 'ForbiddenUser'
  return status === 401 && code !== null && new URL(url).pathname === refreshSession
}

export function openWebSocket(url: string): WebSocket {
  const socket = new WebSocket(url)
  sockets.add(socket)
  socket.addEventListener('close', () => sockets.delete(socket))
  if (isCut.get()) socket.close()
  return socket
}

/** Cuts the page off, or connects it again. Fires the browser's own event, so that the sync notices at once. */
export function takeOffline(cut: boolean): void {
  isCut.set(cut)
  if (cut) for (const socket of sockets) socket.close()
  dispatchEvent(new Event(cut ? 'offline' : 'online'))
}

/** Why nothing can be synced at present; undefined while syncing works. */
const trouble = sharedValue<Error | undefined>(undefined)

export const useTrouble = trouble.use

/** Messages to dismiss when syncing works again. */
const passing = [say.failure.noAnswer, say.app.stillNoRoom, say.app.stillRefused, say.app.stillAway]

/** The text for another attempt that has failed, too. */
export function retryFailureText(error: unknown): string {
  if (error instanceof StorageFullError) return say.app.stillNoRoom
  if (error instanceof ApiError) return say.app.stillRefused
  return error instanceof OfflineError ? say.app.stillAway : messageOf(error)
}

/** Shows an error about one bookmark as a message. Refused edits and other errors have notices (app/notices.tsx). */
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

/** The number of edits that are still to be sent. Those that the service has refused do not count. */
export function unsentOf({ waiting, quarantined = 0 }: SyncStatus): number {
  return waiting - quarantined
}
