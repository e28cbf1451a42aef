import { pino } from 'pino'
import { createApp } from './app.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { openContext } from './context.ts'

/** Leases, sockets and requests in flight have this long; then the process goes. */
const stopWithinMs = 10_000

try {
  await start()
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error)
  process.exit(1)
}

async function start(): Promise<void> {
  const config = readConfig(process.env)
  const log = pino({ level: config.logLevel })
  const context = await openContext(config, { log })
  const app = await createApp(context)

  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(1), stopWithinMs).unref()
    await app.close()
    await context.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)

  try {
    await app.listen({ host: config.host, port: config.port })
  } catch (error) {
    await context.close()
    throw isTaken(error) ? new ConfigError(`PORT: port ${config.port} on ${config.host} is taken`) : error
  }
  announce(config)
}

function isTaken(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
}

function announce({ publicUrl, environment, identityProvider }: Config): void {
  const signIn = identityProvider
    ? `POST ${publicUrl}/api/v1/auth/login, then open the authorizationUrl it answers with`
    : `POST ${publicUrl}/api/v1/auth/login, open the authorizationUrl it answers with, and type any name`
  console.log(
    `encrypted-bookmark-sync (${environment})\n  address  ${publicUrl}\n  docs     ${publicUrl}/docs\n  sign in  ${signIn}`,
  )
}
