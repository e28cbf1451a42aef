/** What the extension's background page has done since it was started. */
export interface Wakes {
  timers: number
  requests: number
  /** The types of the socket's messages. */
  messages: string[]
}

/** Stands before the background page's own code, and counts what it does. */
export function countWakes(): void {
  const wakes: Wakes = { timers: 0, requests: 0, messages: [] }
  const { setTimeout: later, setInterval: often, fetch: send, WebSocket: Socket } = globalThis
  const counted =
    (set: (work: () => void, ms?: number) => unknown) =>
    (work: () => void, ms?: number): unknown => {
      const counting = () => {
        wakes.timers++
        work()
      }
      return set(counting, ms)
    }
  class CountedSocket extends Socket {
    constructor(url: string) {
      super(url)
      this.addEventListener('message', ({ data }) => wakes.messages.push(JSON.parse(data).type))
    }
  }
  Object.assign(globalThis, {
    wakes,
    setTimeout: counted(later),
    setInterval: counted(often),
    WebSocket: CountedSocket,
    fetch: (...values: Parameters<typeof fetch>) => {
      wakes.requests++
      return send(...values)
    },
  })
}
