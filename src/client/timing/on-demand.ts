import { OfflineError } from '../errors.ts'

/**
 * A part of the package in a file of its own, which a page loads when it needs it.
 *
 * @throws OfflineError the file did not arrive; the next call tries again
 * @throws Error a service worker cannot load anything later
 */
export async function onDemand<Part>(loading: Promise<Part>): Promise<Part> {
  try {
    return await loading
  } catch (cause) {
    if ('ServiceWorkerGlobalScope' in globalThis) throw new Error('A service worker loads only itself', { cause })
    throw new OfflineError('A part of the app could not be loaded', { cause })
  }
}
