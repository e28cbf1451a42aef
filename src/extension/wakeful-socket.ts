import type { OpenWebSocket } from '../client/sync/exchange/transport.ts'

/**
 * A WebSocket for `createSync` that keeps an extension's worker awake. To Firefox, what a socket says is no work: it stops a
 * worker that has not called the browser for 30 s. The service pings every 20 s.
 *
 * @param runtime `chrome.runtime`
 */
export function wakefulSocket(runtime: { getPlatformInfo(): Promise<unknown> }): OpenWebSocket {
  return (url) => {
    const socket = new WebSocket(url)
    socket.addEventListener('message', () => void runtime.getPlatformInfo())
    return socket
  }
}
