import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { type Logger, pino } from 'pino'
import packageJson from '../../package.json' with { type: 'json' }
import { createApp } from './app.ts'
import { type Config, readConfig } from './config/config.ts'
import { ConfigError } from './config/values.ts'
import { requireOwnDomain } from './config/web.ts'
import { openContext } from './context.ts'
import { createAdminApp } from './http/admin.ts'
import { closeIdleConnections, listeningFault, refuseConnections } from './http/connections.ts'
import { openLog } from './log.ts'
import { isReadByPeople, printFault } from './printed.ts'
import { banner } from './terminal/banner.ts'

/** Milliseconds in which proxies may send a last request per connection, and learn of the stop. */
const lastRequestsMs = 1_000
/** Milliseconds for requests in progress. Slower clients are cut off, so that there is time to release leases. */
const finishWithinMs = 5_000
/** Milliseconds from the end of draining until the process exits in any case. */
const stopWithinMs = 9_000

/** Runs the service in this process. A wrong configuration is reported in one line on stderr. */
export async function start(): Promise<void> {
  try {
    await serve()
  } catch (error) {
    printFault('fatal', error instanceof ConfigError ? error.message : (error as Error))
    process.exit(1)
  }
}

async function serve(): Promise<void> {
  const config = readConfig(process.env)
  await requireOwnDomain(config)
  // Synchronous for people, so that other output appears after earlier log lines.
  const log = openLog(config.logLevel, pino.destination({ dest: 1, sync: isReadByPeople() }), 1)
  const context = await openContext(config, { log })
  const app = await createApp(context)
  const admin = config.adminPort === undefined ? undefined : createAdminApp(context)

  const drained = new AbortController()
  let stopping = false
  const stop = async (signal: string) => {
    // Ctrl-C or a second signal ends the wait.
    if (context.health.isDraining() || signal === 'SIGINT') drained.abort()
    if (stopping) return
    stopping = true
    context.health.drain()
    log.info({ signal, seconds: config.drainSeconds }, 'draining')
    const pause = (ms: number) => sleep(ms, undefined, { signal: drained.signal }).catch(() => {})
    await pause(config.drainSeconds * 1000)
    await refuseConnections(app.server)
    if (config.drainSeconds > 0) await pause(lastRequestsMs)
    await closeIdleConnections(app.server)
    log.info('stopping')
    setTimeout(() => app.server.closeAllConnections(), finishWithinMs).unref()
    setTimeout(() => {
      log.fatal(`not stopped after ${stopWithinMs / 1000} s: exiting`)
      process.exit(1)
    }, stopWithinMs).unref()
    await app.close()
    await admin?.close()
    await context.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)

  try {
    await listen(app, '', config.host, config.port)
    if (admin) await listen(admin, 'ADMIN_', config.adminHost, config.adminPort as number)
  } catch (error) {
    await app.close()
    await context.close()
    throw error
  }
  announce(config, log)
}

async function listen(app: FastifyInstance, prefix: '' | 'ADMIN_', host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw listeningFault(prefix, host, port, error)
  }
}

function announce(config: Config, log: Logger): void {
  const { publicUrl, environment } = config
  const { version } = packageJson
  if (!isReadByPeople()) {
    log.info({ version, environment, address: publicUrl }, 'serving')
    return
  }
  console.log(banner({ ...config, version }))
}
