import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { folder, signInBefore, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('With 128 descriptors, 300 idle connections end nothing: the rest are closed, others served', async (t) => {
  const dataDir = await folder(t)
  await signInBefore(t, dataDir, ['ada'])
  const few = ['sh', '-c', 'ulimit -n 128; exec "$@"', 'sh']
  const service = await startService(t, dataDir, {}, { under: few })
  const { hostname, port } = new URL(service.origin)
  const idle: Socket[] = []
  let closed = 0
  for (let count = 0; count < 300; count++) {
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.once('close', () => closed++)
    await once(socket, 'connect').catch(() => {})
    idle.push(socket)
  }
  await until(() => closed >= 250)
  t.ok(closed < 300, `${300 - closed} are open`)
  for (const socket of idle) socket.destroy()
  await until(async () => {
    const answer = await service.call('GET', '/api/v1/health').catch(() => undefined)
    return answer?.status === 200
  })
  t.match(service.stdout(), /more than 32 connections: refusing some/)
  t.same(await service.kill('SIGTERM'), { code: 0, signal: null })
})
