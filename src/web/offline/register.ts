import { sharedValue } from '../ui/shared-value.ts'

/** Names the thing that is newer than the page that is shown: the service's page, or the store that another tab has opened. */
type Newer = 'page' | 'store'

const outdated = sharedValue<Newer | undefined>(undefined)

export const useOutdated = outdated.use

/** A newer page can wait until somebody has time for it; a newer store cannot. */
export function setOutdated(by: Newer): void {
  if (outdated.get() !== 'store') outdated.set(by)
}

/** Lets the browser keep the page itself, so that it opens without a network. Without that it works as well. */
export function keepForOffline(): void {
  const container = navigator.serviceWorker
  // The first worker of all takes over a page that is as new as itself.
  let isFirst = container?.controller === null
  container?.addEventListener('controllerchange', () => {
    if (isFirst) isFirst = false
    else setOutdated('page')
  })
  const register = () => void container?.register('/service-worker.js').catch(() => {})
  register()
  // A worker that could not keep everything is gone.
  addEventListener('online', register)
  // It takes over the pages that are open. One that was just being opened has to ask for it.
  container?.ready.then(({ active }) => {
    if (!container.controller) active?.postMessage('claim')
  })
}
