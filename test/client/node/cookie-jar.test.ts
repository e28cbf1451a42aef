import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type Cookie, createCookieJar, parseCookieHeader } from '../../../src/client/node/cookie-jar.ts'

t.test('Cookies are sent to the paths and for the time that the service set, with the last value', async (t) => {
  const service = await echo(t)
  const kept: Cookie[][] = []
  const jar = createCookieJar(service.origin, [], (cookies) => kept.push(cookies))
  const get = async (path: string) => (await jar.fetch(new Request(service.origin + path))).text()
  service.sets = [
    'session=one; Path=/; HttpOnly; SameSite=Lax; Max-Age=60',
    'refresh=two=2; path=/auth; max-age=60; Domain=example.org',
    'old=x; Max-Age=0',
    `older=x; Expires=${new Date(0).toUTCString()}`,
    'lasting=y; Expires=never',
    'no pair',
  ]
  t.equal(await get('/'), '')
  service.sets = []
  for (const path of ['/', '/authors']) t.equal(await get(path), 'session=one; lasting=y')
  for (const path of ['/auth', '/auth/x']) t.equal(await get(path), 'session=one; refresh=two=2; lasting=y')
  service.sets = ['session=three; Path=/', 'lasting=; Max-Age=0']
  await get('/')
  service.sets = []
  t.equal(await get('/'), 'session=three')
  t.equal(kept.length, 2, 'the jar is saved when cookies were set')
})

t.test('Another origin cannot get or set a cookie, not even after a redirect', async (t) => {
  const [service, other] = [await echo(t), await echo(t)]
  const jar = createCookieJar(service.origin, parseCookieHeader('session=one; refresh=two'), () =>
    t.fail('nothing to keep'),
  )
  other.sets = ['session=theirs; Path=/']
  const get = async (url: string) => (await jar.fetch(new Request(url))).text()
  t.equal(await get(`${other.origin}/`), '')
  service.location = `${other.origin}/`
  const post = new Request(`${service.origin}/`, { method: 'POST', body: 'ciphertext' })
  t.equal((await jar.fetch(post)).status, 307)
  t.equal(other.requests, 1)
  service.location = undefined
  t.equal(await get(`${service.origin}/`), 'session=one; refresh=two')
})

/** A service that responds with the cookies it received. */
async function echo(t: Test) {
  const service = { origin: '', sets: [] as string[], location: undefined as string | undefined, requests: 0 }
  const server = createServer(({ headers }, response) => {
    service.requests++
    response.setHeader('set-cookie', service.sets)
    if (service.location !== undefined) response.writeHead(307, { location: service.location }).end()
    else response.end(headers.cookie ?? '')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => void server.close().closeAllConnections())
  service.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return service
}
