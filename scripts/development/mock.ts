/**
 * `npm run mock`: the service for frontend teams, on a temporary database, with scenarios for situations that are hard to
 * reach. It reads the service's variables; PORT is 3000 by default, DEV_IDP_PORT 3001.
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/values.ts'
import { openContext } from '../../src/context.ts'
import { helpText } from './mock/help.ts'
import { createMockServer } from './mock/server.ts'

const opened = new AsyncDisposableStack()
try {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-mock-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const config = readConfig({
    SERVE_DEMO: 'false',
    ...process.env,
    DATA_DIR: folder,
    DATABASE_URL: '',
    EXPORTS_DIR: '',
  })
  const context = opened.adopt(await openContext(config, { log: pino({ level: 'warn' }) }), (context) =>
    context.close(),
  )
  const app = opened.adopt(await createApp(context), (app) => app.close())
  await app.ready()
  const server = createMockServer(app)
  const listening = once(server.listen(config.port, config.host), 'listening')
  await listening.catch((error) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new ConfigError(`PORT: port ${config.port} on ${config.host} is in use`)
  })
  opened.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  console.log(helpText(config.publicUrl))
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error)
  process.exitCode = 1
  await stop()
}

async function stop(): Promise<void> {
  await opened.disposeAsync()
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
