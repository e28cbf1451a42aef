import type { TabMessage, TabsPlatform } from '../../../src/client/sync/store/tabs.ts'
import { counted, turns } from '../sync/turns.ts'

type Port = NonNullable<TabsPlatform['channel']>
type Listener = (event: { data: unknown }) => void

/** What the tabs of one browser say to each other, in order, each a turn of the event loop later. */
export class Air {
  readonly #listeners = new Map<object, Listener>()

  port(): Port {
    const own = {}
    const post = (message: TabMessage) => {
      // A killed tab says nothing more.
      if (!this.#listeners.has(own)) return
      const data = structuredClone(message)
      void counted(async () => {
        // The engine relies on it that a tab hears this before the lock of a sign-out passes on to it.
        await (data.type === 'signed-out' ? undefined : turns(1))
        for (const [port, listener] of [...this.#listeners]) if (port !== own) listener({ data })
      })
    }
    return {
      postMessage: post,
      addEventListener: (_name: string, listener: unknown) => {
        this.#listeners.set(own, listener as Listener)
      },
      close: () => {
        this.#listeners.delete(own)
      },
    } as Port
  }
}
