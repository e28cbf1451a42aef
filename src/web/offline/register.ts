import { sharedValue } from '../ui/shared-value.ts'

/** True if the service has a newer page than this one. */
const outdated = sharedValue(false)

export const useOutdated = outdated.use

/** Lets the browser keep the page's files, so that it opens offline. The page also works without that. */
export function keepForOffline(): void {
  const container = navigator.serviceWorker
  // The very first worker takes over a page of its own version, which is not outdated.
  let isFirst = container?.controller === null
  container?.addEventListener('controllerchange', () => {
    if (isFirst) isFirst = false
    else outdated.set(true)
  })
  const register = () => void container?.register('/service-worker.js').catch(() => {})
  register()
  // Tried again online, because a worker that could not store everything was discarded.
  addEventListener('online', register)
  // The worker takes over open pages. A page that was just being opened must ask for it.
  container?.ready.then(({ active }) => {
    if (!container.controller) active?.postMessage('claim')
  })
}
