import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readdir } from 'node:fs/promises'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { openDevice } from '../realtime/device.ts'
import { openBrowser } from '../support/browser.ts'
import { change } from '../support/changes.ts'
import { callsTo, folder } from '../support/service.ts'

const script = fileURLToPath(new URL('../../scripts/cluster.ts', import.meta.url))

t.test('npm run cluster serves through one port while one of three instances is killed; Ctrl-C ends all', async (t) => {
  const cluster = await startCluster(t)
  const browser = openBrowser(callsTo(cluster.url))
  const signedIn = await browser.signIn('Ada')
  t.same([signedIn.status, signedIn.headers.location], [302, '/'], 'signed in through the proxy')
  const { body: session } = await browser.call('GET', '/api/v1/auth/session')
  const ada = { userId: session.user.user_id, cookie: `service_session=${browser.cookies().service_session}` }
  const push = async (entity_id: string) => {
    const body = { changes: [change({ entity_id })] }
    const answer = await browser.call('POST', '/api/v1/sync/push', { body })
    t.equal(answer.body.accepted, 1)
    return answer.headers['x-instance']
  }

  t.equal(await askWithUpgrade(`${cluster.url}/api/v1/health`), 200, 'Java offers every server HTTP/2 like this')
  t.equal(await askWithUpgrade(`${cluster.url}/api/v1/sync/realtime`, { cookie: ada.cookie }), 426)

  const devices = await openDevices(t, cluster.url, ada)
  t.same([await push('a'), await push('b'), await push('c')].sort(), ['1', '2', '3'], 'each instance takes its turn')
  for (const device of devices) t.same(await device.takeEntities('c'), ['a', 'b', 'c'])

  process.kill(cluster.instances[1] as number, 'SIGKILL')
  const dead = await Promise.race(devices.map(({ closeCode }, index) => closeCode.then(() => index)))
  t.same(
    new Set([await push('d'), await push('e'), await push('f')]),
    new Set(['1', '3']),
    'the killed instance is skipped',
  )
  for (const [index, device] of devices.entries())
    if (index !== dead) t.same(await device.takeEntities('f'), ['d', 'e', 'f'])
  const again = await openDevice(t, cluster.url, ada, { deviceId: 'again', since: 0 })
  t.same(await again.takeEntities('f'), ['a', 'b', 'c', 'd', 'e', 'f'], 'its client continues at another instance')

  const processes = await descendantsOf(cluster.pid)
  t.ok(processes.length >= 4, `${processes.length} processes`)
  process.kill(-cluster.pid, 'SIGINT')
  t.equal(await cluster.exited, 0)
  for (const [index, { closeCode }] of devices.entries())
    if (index !== dead) t.equal(await closeCode, 1001, 'sockets are closed with 1001')
  t.same(processes.filter(isAlive), [], 'no process')
  t.same(await readdir(cluster.tmpdir), [], 'no file')
})

t.test('No process of the cluster outlives the npm run cluster process, however that ends', async (t) => {
  const cluster = await startCluster(t)
  const processes = await descendantsOf(cluster.pid)
  process.kill(cluster.pid, 'SIGKILL')
  await cluster.exited
  while (processes.some(isAlive)) await sleep(20)
  t.ok(processes.length >= 5)
})

t.test('If a port is in use, npm run cluster names it in one line and leaves no process behind', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const cluster = await run(t, { PORT: String(port) })
  t.equal(await cluster.exited, 1)
  t.match(cluster.output(), new RegExp(`^[^\n]*EADDRINUSE[^\n]*:${port}\n$`))
  t.same(await readdir(cluster.tmpdir), [])
})

async function run(t: Test, settings: Record<string, string> = {}) {
  const tmpdir = await folder(t)
  // Postgres, which does not run as root, must be able to reach its own folder.
  await chmod(tmpdir, 0o711)
  const ports = { PORT: String(await freePort()), DEV_IDP_PORT: String(await freePort()) }
  const env = { ...process.env, TMPDIR: tmpdir, ...ports, ...settings }
  // A separate process group, as a shell makes for each command.
  const child = spawn(process.execPath, [script], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { pid: child.pid as number, tmpdir, output: () => output, exited }
}

/** Starts the cluster. Resolves when it has printed how to use it. */
async function startCluster(t: Test) {
  const cluster = await run(t)
  const isOver = cluster.exited.then(() => true)
  while (!cluster.output().includes('kill -9')) {
    if (await Promise.race([isOver, sleep(20)])) throw new Error(`it did not start: ${cluster.output()}`)
  }
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(cluster.output())?.[0] as string
  const instances = [...cluster.output().matchAll(/process (\d+)/g)].map(([, pid]) => Number(pid))
  return { ...cluster, url, instances }
}

/** Opens three devices one after another, so that each one reaches another instance. */
async function openDevices(t: Test, url: string, user: { userId: string; cookie: string }) {
  const devices: Awaited<ReturnType<typeof openDevice>>[] = []
  for (const deviceId of ['one', 'two', 'three']) devices.push(await openDevice(t, url, user, { deviceId }))
  return devices
}

async function askWithUpgrade(url: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  const request = get(url, { headers: { ...headers, connection: 'Upgrade', upgrade: 'h2c' } })
  const [response] = await once(request, 'response')
  response.resume()
  return response.statusCode
}

async function descendantsOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,ppid='])
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const found = [pid]
  for (const parent of found)
    found.push(...pairs.filter(([, ppid]) => ppid === parent).map(([child]) => child as number))
  return found.slice(1)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
