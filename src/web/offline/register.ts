import { sharedValue } from '../ui/shared-value.ts'

/** Whether the service has a newer version of the page than the one that is shown. */
const isOutdated = sharedValue(false)

export const useIsOutdated = isOutdated.use

/** Lets the browser keep the page itself, so that it opens without a network. Without that it works as well. */
export function keepForOffline(): void {
  const container = navigator.serviceWorker
  // The first worker of all takes over a page that is as new as itself.
  let isFirst = container?.controller === null
  container?.addEventListener('controllerchange', () => {
    if (isFirst) isFirst = false
    else isOutdated.set(true)
  })
  container?.register('/service-worker.js').catch(() => {})
}
