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
import { openContext } from '../../src/context.ts'
import { scenarios } from './mock/scenarios.ts'
import { createMockServer } from './mock/server.ts'

const folder = await mkdtemp(join(tmpdir(), 'ebs-mock-'))
const config = readConfig({ SERVE_DEMO: 'false', ...process.env, DATA_DIR: folder, DATABASE_URL: '', EXPORTS_DIR: '' })
const context = await openContext(config, { log: pino({ level: 'warn' }) })
const app = await createApp(context)
await app.ready()
const server = createMockServer(app)
await once(server.listen(config.port, config.host), 'listening')

const names = Object.entries(scenarios).map(([name, { does }]) => `  ${name.padEnd(18)} ${does}`)
console.log(`The mock is at ${config.publicUrl}, until Ctrl-C. Any name signs in.

Send the header or the query parameter x-scenario with a request:

${names.join('\n')}`)

const stop = async () => {
  server.close()
  server.closeAllConnections()
  await app.close()
  await context.close()
  await rm(folder, { recursive: true, force: true })
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
