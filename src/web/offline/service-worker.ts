/** Keeps the files of the page, and serves them offline. Does not handle API calls, and so no bookmarks. */
import { withRetries } from '../../client/api/retry.ts'
import { bytesToBase64 } from '../../client/crypto/base64.ts'

/** The page and its files, each with the SHA-256 of its content. */
declare const builtFiles: readonly (readonly [path: string, hash: string])[]
/** The hash of `builtFiles`. */
declare const buildHash: string

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void
}

interface FetchEvent extends WorkerEvent {
  request: Request
  respondWith(response: Promise<Response>): void
}

const worker = globalThis as unknown as {
  addEventListener(name: 'install' | 'activate' | 'message', listener: (event: WorkerEvent) => void): void
  addEventListener(name: 'fetch', listener: (event: FetchEvent) => void): void
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void> }
}

const cacheName = `page-${buildHash}`
/** The bundler puts a hash of a chunk's content into its name, so a kept file of that name is never outdated. */
const hashed = /-[A-Z0-9]{8}\.js$/

const mostTries = 3
const pauseMs = 1000
const sendPatiently = withRetries((request) => fetch(request))

worker.addEventListener('install', (event) => event.waitUntil(keep().then(() => worker.skipWaiting())))
worker.addEventListener('activate', (event) => event.waitUntil(forgetOthers().then(() => worker.clients.claim())))
worker.addEventListener('message', (event) => event.waitUntil(worker.clients.claim()))
worker.addEventListener('fetch', (event) => {
  const { origin, pathname } = new URL(event.request.url)
  if (event.request.method !== 'GET' || origin !== location.origin) return
  if (pathname === '/') event.respondWith(page(event.request))
  else if (pathname.startsWith('/demo/')) event.respondWith(file(event.request))
})

/** Stores all files, or none: an incomplete cache could not be told from a complete one. */
async function keep(): Promise<void> {
  const wasThere = await caches.has(cacheName)
  const cache = await caches.open(cacheName)
  try {
    await Promise.all(builtFiles.map(([path, hash]) => keepFile(cache, path, hash)))
  } catch (error) {
    if (!wasThere) await caches.delete(cacheName)
    throw error
  }
}

/** Stores a file. Tries again, because the service may be busy or not upgraded yet, or a proxy may answer instead. */
async function keepFile(cache: Cache, path: string, hash: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      // Skips the browser's HTTP cache, which may hold a proxy's response.
      const response = await sendPatiently(new Request(path, { cache: 'reload' }))
      const content = await crypto.subtle.digest('SHA-256', await response.clone().arrayBuffer())
      if (bytesToBase64(new Uint8Array(content)) !== hash) throw new Error(`${path} is not the one of this build`)
      return await cache.put(path, response)
    } catch (error) {
      if (tries === mostTries) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, tries * pauseMs))
  }
}

/** Deletes the files of earlier builds except the last one: tabs that are still open may load more of its files. */
async function forgetOthers(): Promise<void> {
  const others = (await caches.keys()).filter((name) => name !== cacheName)
  for (const name of others.slice(0, -1)) await caches.delete(name)
}

async function file(request: Request): Promise<Response> {
  const kept = await findKept(request)
  if (!kept) return fetch(request)
  if (hashed.test(request.url)) return kept
  // A proxy or a captive portal may answer a request for a script with a page.
  const answer = await fetch(request).catch(() => kept)
  return answer.ok && typeOf(answer) === typeOf(kept) ? answer : kept
}

function typeOf({ headers }: Response): string | null {
  return headers.get('content-type')
}

/** Fetches the page, so that a captive portal can answer with its own. Without a response, returns the kept page. */
async function page(request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    const kept = await findKept('/')
    if (!kept) throw error
    return kept
  }
}

/** Ignores `Vary`: the files are the same for every origin. */
async function findKept(request: RequestInfo): Promise<Response | undefined> {
  const own = await caches.open(cacheName)
  const options = { ignoreVary: true }
  return (await own.match(request, options)) ?? caches.match(request, options)
}
