import { OfflineError } from '../../client/index.ts'
import { hearTime } from '../ui/service-time.ts'
import { sharedValue } from '../ui/shared-value.ts'

/** The page's way to the service, with a switch: to see what happens without a network, nobody has to pull a plug. */
const isCut = sharedValue(false)
const sockets = new Set<WebSocket>()

export const useIsCut = isCut.use

/** Whether the service last asked this device to wait. The client package then waits as long as it was told. */
const isSlowedDown = sharedValue(false)

export const useIsSlowedDown = isSlowedDown.use

export async function send(request: Request): Promise<Response> {
  if (isCut.get()) throw new OfflineError('This device was taken offline')
  try {
    const response = await fetch(request)
    hearTime(response.headers.get('date'))
    isSlowedDown.set(response.status === 429)
    return response
  } catch (cause) {
    isSlowedDown.set(false)
    throw cause instanceof TypeError ? new OfflineError(undefined, { cause }) : cause
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
