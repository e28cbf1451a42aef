import type { Engine } from './engine.ts'

/** Browsers know when the network goes and comes; Node does not say. */
export function followNetwork(engine: Engine, signal: AbortSignal): void {
  const platform = globalThis as Partial<Pick<typeof globalThis, 'addEventListener'>>
  platform.addEventListener?.('online', () => engine.network.ring(), { signal })
  platform.addEventListener?.(
    'offline',
    () => {
      engine.status.set('offline')
      engine.disconnected.ring()
    },
    { signal },
  )
}
