import { OfflineError } from '../../client/index.ts'
import { sharedValue } from '../ui/shared-value.ts'

/** The page's way to the service, with a switch: to see what happens without a network, nobody has to pull a plug. */
const isCut = sharedValue(false)
const sockets = new Set<WebSocket>()

export const useIsCut = isCut.use

export async function send(request: Request): Promise<Response> {
  if (isCut.get()) throw new OfflineError('This device was taken offline')
  try {
    return await fetch(request)
  } catch (cause) {
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
