import { sharedValue } from '../ui/shared-value.ts'

/** True if the service has a newer page than the one that is shown. */
const outdated = sharedValue(false)

export const useOutdated = outdated.use

/** Lets the browser keep the page itself, so that it opens without a network. Without that it works as well. */
export function keepForOffline(): void {
  const container = navigator.serviceWorker
  // The first worker of all takes over a page that is as new as itself.
  let isFirst = container?.controller === null
  container?.addEventListener('controllerchange', () => {
    if (isFirst) isFirst = false
    else outdated.set(true)
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
