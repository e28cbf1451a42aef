import { useSyncExternalStore } from 'preact/compat'
import { OfflineError } from '../../client/index.ts'

/** The page's way to the service, with a switch: to see what happens without a network, nobody has to pull a plug. */
let isCut = false
const listeners = new Set<() => void>()
const sockets = new Set<WebSocket>()

export async function send(request: Request): Promise<Response> {
  if (isCut) throw new OfflineError('This device was taken offline')
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
  if (isCut) socket.close()
  return socket
}

/** The browser's own event tells the sync at once. */
export function takeOffline(cut: boolean): void {
  isCut = cut
  if (cut) for (const socket of sockets) socket.close()
  dispatchEvent(new Event(cut ? 'offline' : 'online'))
  for (const listener of listeners) listener()
}

export function useIsCut(): boolean {
  return useSyncExternalStore(subscribe, () => isCut)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
