/** Keeps the files of the page, and shows them where there is no network. Bookmarks and calls are none of its business. */

/** The names of the files that the build has written. */
declare const builtFiles: readonly string[]
/** A hash of what is in them. */
declare const buildHash: string

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void
}

interface FetchEvent extends WorkerEvent {
  request: Request
  respondWith(response: Promise<Response>): void
}

const worker = globalThis as unknown as {
  addEventListener(name: 'install' | 'activate', listener: (event: WorkerEvent) => void): void
  addEventListener(name: 'fetch', listener: (event: FetchEvent) => void): void
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void> }
}

const cacheName = `page-${buildHash}`
/** Names of split files contain a hash of their content, so a cached one is never outdated. */
const hashed = /-[A-Z0-9]{8}\.js$/

worker.addEventListener('install', (event) => event.waitUntil(keep().then(() => worker.skipWaiting())))
worker.addEventListener('activate', (event) => event.waitUntil(forgetOthers().then(() => worker.clients.claim())))
worker.addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (event.request.method !== 'GET' || origin !== location.origin) return
  if (pathname === '/') event.respondWith(fromNetwork(event.request, '/'))
  else if (pathname.startsWith('/demo/')) event.respondWith(file(event.request))
})

async function keep(): Promise<void> {
  const cache = await caches.open(cacheName)
  await cache.addAll(['/', ...builtFiles.map((name) => `/demo/${name}`)])
}

/** Files of earlier builds; but tabs that were open during the upgrade still load parts of the last one. */
async function forgetOthers(): Promise<void> {
  const others = (await caches.keys()).filter((name) => name !== cacheName)
  for (const name of others.slice(0, -1)) await caches.delete(name)
}

async function file(request: Request): Promise<Response> {
  const kept = hashed.test(request.url) ? await findKept(request) : undefined
  return kept ?? fromNetwork(request, request)
}

/** What the service has now; without an answer from it, what was kept. */
async function fromNetwork(request: Request, kept: RequestInfo): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    const found = await findKept(kept)
    if (!found) throw error
    return found
  }
}

/** The files are the same for every origin, although every response of the service varies by it. */
async function findKept(request: RequestInfo): Promise<Response | undefined> {
  const own = await caches.open(cacheName)
  const options = { ignoreVary: true }
  return (await own.match(request, options)) ?? caches.match(request, options)
}
