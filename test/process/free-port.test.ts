import { once } from 'node:events'
import { createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'

t.test('Processes that run at the same time never get the same free port, and each port can be used', async (t) => {
  const module = new URL('../../scripts/servers/free-port.ts', import.meta.url).href
  const code = `
    const { parentPort } = require('node:worker_threads')
    import(${JSON.stringify(module)}).then(async ({ freePort }) => {
      const ports = []
      for (let i = 0; i < 300; i += 1) ports.push(await freePort())
      parentPort.postMessage(ports)
    })
    setInterval(() => {}, 1000)`
  // 900 random draws from 12,000 ports would give some thirty duplicates.
  const others = [0, 1, 2].map(() => new Worker(code, { eval: true, execArgv: [] }))
  t.teardown(() => Promise.all(others.map((other) => other.terminate())))
  const ports = (await Promise.all(others.map((other) => once(other, 'message')))).flatMap(
    ([given]) => given as number[],
  )
  t.equal(new Set(ports).size, 900)
  for (const port of [...ports.slice(0, 20), await freePort()]) {
    const server = createServer().listen(port, '0.0.0.0')
    await once(server, 'listening')
    server.close()
  }
})
