import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type Cookie, createCookieJar, parseCookieHeader } from '../../../src/client/node/cookie-jar.ts'

t.test('Cookies go to the paths and for the time that the service said, and the last value counts', async (t) => {
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
  t.same(
    [await get('/'), await get('/auth'), await get('/auth/x'), await get('/authors')],
    [
      'session=one; lasting=y',
      'session=one; refresh=two=2; lasting=y',
      'session=one; refresh=two=2; lasting=y',
      'session=one; lasting=y',
    ],
  )
  service.sets = ['session=three; Path=/', 'lasting=; Max-Age=0']
  await get('/')
  service.sets = []
  t.equal(await get('/'), 'session=three')
  t.equal(kept.length, 2, 'kept when some were set')
})

t.test('Another origin gets no cookie, not even by a redirect, and sets none', async (t) => {
  const [service, other] = [await echo(t), await echo(t)]
  const jar = createCookieJar(service.origin, parseCookieHeader('session=one; refresh=two'), () =>
    t.fail('nothing to keep'),
  )
  other.sets = ['session=theirs; Path=/']
  const get = async (url: string) => (await jar.fetch(new Request(url))).text()
  t.equal(await get(`${other.origin}/`), '')
  service.location = `${other.origin}/`
  t.equal(await get(`${service.origin}/`), '')
  service.location = undefined
  t.equal(await get(`${service.origin}/`), 'session=one; refresh=two')
})

/** A service that answers with the cookies it got. */
async function echo(t: Test) {
  const service = { origin: '', sets: [] as string[], location: undefined as string | undefined }
  const server = createServer(({ headers }, response) => {
    response.setHeader('set-cookie', service.sets)
    if (service.location !== undefined) response.writeHead(302, { location: service.location }).end()
    else response.end(headers.cookie ?? '')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => void server.close().closeAllConnections())
  service.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return service
}
