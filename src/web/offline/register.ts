import { sharedValue } from '../ui/shared-value.ts'

/** True if the service has a newer page than this one. */
const outdated = sharedValue(false)

export const useOutdated = outdated.use

/** Lets the browser keep the page's files, so that the page opens offline. If it refuses, everything else works. */
export function keepForOffline(): void {
  const container = navigator.serviceWorker
  // The first service worker of a browser takes over a page of the same version, which is not outdated.
  let isFirst = container?.controller === null
  container?.addEventListener('controllerchange', () => {
    if (isFirst) isFirst = false
    else outdated.set(true)
  })
  const register = () => void container?.register('/service-worker.js').catch(() => {})
  register()
  // Tries again when online, because a worker that could not store everything was discarded.
  addEventListener('online', register)
  // A worker takes over the open pages when it starts. A page that was still loading then must ask for it.
  container?.ready.then(({ active }) => {
    if (!container.controller) active?.postMessage('claim')
  })
}
