import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { folder, signInBefore, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** With 128 file descriptors, the service accepts 32 connections, 8 per address, and 8 more from this machine. */
const with128Descriptors = ['sh', '-c', 'ulimit -n 128; exec "$@"', 'sh']

/** Opens connections from this address that send half of a head. `open` counts those that the service keeps. */
async function open(t: Test, { origin }: { origin: string }, count: number, localAddress: string) {
  const { hostname, port } = new URL(origin)
  const sockets: Socket[] = []
  let closed = 0
  for (let index = 0; index < count; index++) {
    const socket = connect({ port: Number(port), host: hostname, localAddress }).on('error', () => {})
    socket.once('close', () => closed++)
    await once(socket, 'connect').catch(() => {})
    socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n')
    sockets.push(socket)
  }
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(close)
  return { close, open: () => count - closed }
}

/** The status of a request over a new connection from this address; undefined if the connection is refused. */
async function ask({ origin }: { origin: string }, localAddress: string): Promise<number | undefined> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ port: Number(port), host: hostname, localAddress }).on('error', () => {})
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await new Promise((resolve) => socket.once('close', resolve))
  const [, status] = /^HTTP\/1.1 (\d+)/.exec(text) ?? []
  return status === undefined ? undefined : Number(status)
}

t.test('With 128 descriptors and 300 idle connections, the surplus is closed and requests are served', async (t) => {
  const dataDir = await folder(t)
  await signInBefore(t, dataDir, ['ada'])
  const service = await startService(t, dataDir, {}, { under: with128Descriptors })
  const idle = await open(t, service, 300, '127.0.0.1')
  await until(() => idle.open() <= 40)
  t.equal(idle.open(), 40)
  idle.close()
  await until(async () => {
    const answer = await service.call('GET', '/api/v1/health').catch(() => undefined)
    return answer?.status === 200
  })
  t.match(service.stdout(), /more than 32 connections: refusing some/)
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null })
})

t.test('An address that opens many connections does not block other addresses', async (t) => {
  const service = await startService(t, await folder(t), {}, { under: with128Descriptors })
  const one = await open(t, service, 100, '127.0.0.2')
  await until(() => one.open() <= 8)
  t.equal(one.open(), 8, 'a quarter')
  t.same([await ask(service, '127.0.0.3'), await ask(service, '127.0.0.2')], [200, undefined])
  t.match(service.stdout(), /more than 8 connections from one address: refusing some of them/)
  const others = await Promise.all(['127.0.0.4', '127.0.0.5', '127.0.0.6'].map((from) => open(t, service, 20, from)))
  await until(() => others.every((each) => each.open() <= 8))
  t.same(
    [await ask(service, '127.0.0.3'), await ask(service, '127.0.0.1')],
    [undefined, 200],
    "with all places taken by four addresses, the container's health check still succeeds",
  )
  one.close()
  await until(async () => (await ask(service, '127.0.0.2')) === 200)
})

t.test('A trusted proxy, and a proxy on this machine, may use all connections', async (t) => {
  for (const TRUST_PROXY of ['1', '127.0.0.2']) {
    const service = await startService(t, await folder(t), { TRUST_PROXY }, { under: with128Descriptors })
    const proxy = await open(t, service, 100, '127.0.0.2')
    await until(() => proxy.open() <= 32)
    t.same([proxy.open(), await ask(service, '127.0.0.1')], [32, 200])
    proxy.close()
    if (TRUST_PROXY === '1') continue
    const other = await open(t, service, 20, '127.0.0.3')
    await until(() => other.open() <= 8)
    t.equal(other.open(), 8, 'other addresses have a limit')
  }
})
