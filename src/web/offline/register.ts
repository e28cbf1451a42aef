import { useSyncExternalStore } from 'preact/compat'

let isOutdated = false
const listeners = new Set<() => void>()

/** Lets the browser keep the page itself, so that it opens without a network. Without that it works as well. */
export function keepForOffline(): void {
  const container = navigator.serviceWorker
  // The first worker of all takes over a page that is as new as itself.
  let isFirst = container?.controller === null
  container?.addEventListener('controllerchange', () => {
    if (isFirst) isFirst = false
    else setOutdated()
  })
  container?.register('/service-worker.js').catch(() => {})
}

/** Whether the service has a newer version of the page than the one that is shown. */
export function useIsOutdated(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isOutdated,
  )
}

function setOutdated(): void {
  isOutdated = true
  for (const listener of listeners) listener()
}
