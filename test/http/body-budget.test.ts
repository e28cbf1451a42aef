import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { networkOf } from '../../src/service/load/rates.ts'
import { snapshot } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { until } from '../support/until.ts'
import { mebibyte, nothing, nothingIn, openForUploads, push, type Upload } from './uploads.ts'

const json = { 'content-type': 'application/json' }
const unavailable = [503, { error: 'Service unavailable' }, '1']
const most = 128 * mebibyte

t.test('128 MiB of bodies at a time, half of them from one user: what would exceed that is refused', async (t) => {
  const { context, user, call, origin, bodies, begin, send, log } = await openForUploads(t)
  const [ada, bob, eve] = [await user('ada'), await user('bob'), await user('eve')]
  const begun = performance.now()
  const before = await snapshot(context)
  const [adas, bobs] = [bodies.hold(ada.userId), bodies.hold(bob.userId)]
  adas.add(64 * mebibyte - 40)

  await t.test('One user gets half: others are not affected', async (t) => {
    t.equal(await send(ada, 40), 200)
    t.same(await send(ada, 41), unavailable)
    t.equal(await send(bob, 32 * mebibyte), 200)
  })

  bobs.add(64 * mebibyte)
  t.test('128 MiB in all', async (t) => {
    t.same(await send(eve, 41), unavailable, 'with its length')
    const announced = await begin({ cookie: eve.cookie, length: mebibyte })
    t.equal((await announced.answer).status, 503, 'before it is sent')
    const inChunks = await begin({ cookie: eve.cookie })
    inChunks.send(mebibyte)
    const { status, body, headers } = await inChunks.answer
    t.same([status, body, headers['retry-after']], unavailable, 'in chunks')
    for (const upload of [announced, inChunks]) upload.abort()
    t.equal(await send(eve, 40), 200, 'what just fits')
    for (const path of ['/api/v1/bookmarks', '/api/v1/sync/status'])
      t.equal((await eve.call('GET', path)).status, 200, 'without a body there is nothing to refuse')
  })

  t.test('It is checked after the size, before the content', async (t) => {
    const { cookie } = eve
    for (const [status, headers, payload] of [
      [403, { ...json, cookie, origin: 'https://evil.example' }, nothingIn(100)],
      [401, json, nothingIn(100)],
      [415, { cookie, 'content-type': 'text/plain' }, nothingIn(100)],
      [413, { ...json, cookie }, nothingIn(32 * mebibyte + 1)],
      [503, { ...json, cookie }, '{'.padEnd(100)],
    ] as const) {
      const answer = await call('POST', push, { headers, payload })
      t.equal(answer.status, status)
    }
  })

  t.test('A client that is refused while it sends may go on: its connection serves the next request', async (t) => {
    const { hostname, port } = new URL(origin)
    const connection = connect(Number(port), hostname)
    const head = [`POST ${push} HTTP/1.1`, 'Host: localhost', `Cookie: ${eve.cookie}`, 'Content-Type: application/json']
    connection.write([...head, 'Transfer-Encoding: chunked', '', '100000', ' '.repeat(mebibyte), ''].join('\r\n'))
    const [refusal] = await once(connection, 'data')
    t.match(String(refusal), /^HTTP\/1\.1 503 /)
    for (let sent = 0; sent < 30; sent++) connection.write(`100000\r\n${' '.repeat(mebibyte)}\r\n`)
    connection.write('0\r\n\r\n')
    for (const hold of [adas, bobs]) hold.release()
    connection.write([...head, 'Content-Length: 14', 'Connection: close', '', nothing].join('\r\n'))
    t.match(await text(connection), /^HTTP\/1\.1 200 /)
  })

  t.test('Afterwards there is room again, nothing has changed, and the log reports the refusals', async (t) => {
    for (const person of [ada, eve]) t.equal(await send(person, 32 * mebibyte), 200)
    await until(() => bodies.held() === 0)
    t.equal(await snapshot(context), before)
    const told = (part: string) => log.filter((line) => line.includes(part)).map((line) => JSON.parse(line))
    t.match(told('too many bytes')[0], { level: 40, refused: 1 })
    t.ok(told('too many bytes').length <= 1 + (performance.now() - begun) / 10_000, 'every ten seconds at most')
    t.same(told('Service unavailable'), [], 'and no line for each')
  })
})

t.test('Callers without a session count by their address, or with IPv6 by their network', async (t) => {
  const { user, call, bodies } = await openForUploads(t)
  const full = bodies.hold(networkOf('2001:db8:0:1::1'))
  t.ok(full.add(64 * mebibyte - 1))
  const logout = async (from: string) =>
    (await call('POST', '/api/v1/auth/logout', { headers: json, payload: '{}', from })).status
  const addresses = ['2001:db8:0:1::1', '2001:db8:0:1::2', '2001:db8:0:2::1', '192.0.2.1']
  t.same(await Promise.all(addresses.map((from) => logout(from))), [503, 503, 200, 200])
  const { cookie } = await user('ada')
  const pushed = { headers: { ...json, cookie }, payload: nothing, from: '2001:db8:0:1::1' }
  t.equal((await call('POST', push, pushed)).status, 200, 'a session is not concerned')
})

t.test('What is announced and not sent takes no room from others', async (t) => {
  const { user, bodies, begin, send, abort } = await openForUploads(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const announced: Upload[] = []
  while (announced.length < 12) announced.push(await begin({ cookie: ada.cookie, length: 32 * mebibyte }))
  t.equal(bodies.held(), 0)
  t.equal(await send(ada, mebibyte), 200)
  t.equal(await send(bob, mebibyte), 200)
  await abort(announced)
})

const names = ['ada', 'bob', 'eve', 'joe', 'kim', 'lea']
const atOnce = depth(6, 12)
t.test(`${atOnce} of 32 MiB at once: 128 MiB are never exceeded, and four or more get through`, async (t) => {
  const { user, bodies, begin } = await openForUploads(t)
  const people = await Promise.all(names.map(user))
  let highest = 0
  const watch = () => {
    highest = Math.max(highest, bodies.held())
    timer.refresh()
  }
  const timer = setTimeout(watch)
  t.teardown(() => clearTimeout(timer))
  const uploads = await Promise.all(
    [...people, ...people].slice(0, atOnce).map(({ cookie }) => begin({ cookie, length: 32 * mebibyte })),
  )
  for (const upload of uploads) {
    const body = nothingIn(32 * mebibyte)
    for (let sent = 0; sent < 31; sent++) upload.write(body.slice(sent * mebibyte, (sent + 1) * mebibyte))
    upload.end(body.slice(31 * mebibyte))
  }
  const statuses = (await Promise.all(uploads.map(({ answer }) => answer))).map(({ status }) => status)
  t.same(new Set(statuses), new Set([200, 503]))
  t.ok(statuses.filter((status) => status === 200).length >= 4, String(statuses))
  t.ok(highest > 64 * mebibyte && highest <= most, `at most ${highest} bytes`)
  await until(() => bodies.held() === 0)
})
