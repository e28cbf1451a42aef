/** Keeps the files of the page, and shows them where there is no network. Bookmarks and calls are none of its business. */
import { withRetries } from '../../client/api/retry.ts'

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
  addEventListener(name: 'install' | 'activate' | 'message', listener: (event: WorkerEvent) => void): void
  addEventListener(name: 'fetch', listener: (event: FetchEvent) => void): void
  skipWaiting(): Promise<void>
  clients: { claim(): Promise<void> }
}

const cacheName = `page-${buildHash}`
/** Names of split files contain a hash of their content, so a cached one is never outdated. */
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
  if (pathname === '/') event.respondWith(fromNetwork(event.request, '/'))
  else if (pathname.startsWith('/demo/')) event.respondWith(file(event.request))
})

/** All of them or, because a part would look like an earlier version, none. */
async function keep(): Promise<void> {
  const wasThere = await caches.has(cacheName)
  const cache = await caches.open(cacheName)
  const files = ['/', ...builtFiles.map((name) => `/demo/${name}`)]
  try {
    await Promise.all(files.map((path) => keepFile(cache, path)))
  } catch (error) {
    if (!wasThere) await caches.delete(cacheName)
    throw error
  }
}

/** The service may be busy, the network gone for a moment, or an instance not upgraded yet. */
async function keepFile(cache: Cache, path: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const response = await sendPatiently(new Request(path))
      if (!response.ok) throw new Error(`${path} was answered with ${response.status}`)
      return await cache.put(path, response)
    } catch (error) {
      if (tries === mostTries) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, tries * pauseMs))
  }
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

/** The file as the service has it now; without an answer from it, the kept one. */
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
