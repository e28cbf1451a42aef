import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { createApp } from '../../src/service/app.ts'
import { loginSeconds } from '../../src/service/auth/cookies.ts'
import { signIn } from '../../src/service/auth/sign-in.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { type Context, openContext } from '../../src/service/context.ts'
import { listeningFault } from '../../src/service/http/connections.ts'
import { untilStopped } from '../servers/until-stopped.ts'
import { scenarios } from './scenarios.ts'
import { createMockServer } from './server.ts'

/** @param signedIn the person whom calls without a session act for */
export function runMock(signedIn?: string): Promise<void> {
  return untilStopped(async (opened) => helpText(await open(opened, signedIn)))
}

/** Starts the mock and returns its address. */
async function open(opened: AsyncDisposableStack, signedIn?: string): Promise<string> {
  const { path: folder } = opened.use(await mkdtempDisposable(join(tmpdir(), 'ebs-mock-')))
  const config = readConfig({
    SERVE_APP: 'false',
    ...process.env,
    DATA_DIR: folder,
    DATABASE_URL: undefined,
    EXPORTS_DIR: undefined,
  })
  const context = opened.adopt(await openContext(config, { log: pino({ level: 'warn' }) }), (it) => it.close())
  const app = opened.adopt(await createApp(context), (it) => it.close())
  await app.ready()
  const server = createMockServer(app, signedIn === undefined ? undefined : await cookieOf(signedIn, context))
  const listening = once(server.listen(config.port, config.host), 'listening')
  await listening.catch((error) => {
    throw listeningFault('', config.host, config.port, error)
  })
  opened.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  return config.publicUrl
}

/** Signs the person in without the provider. Returns the session's cookie. */
async function cookieOf(name: string, context: Context): Promise<string> {
  const { session } = await signIn(
    context,
    {
      identity: {
        issuer: context.provider.issuer,
        subject: `mock ${name}`,
        email: `${name}@example.org`,
        name,
        avatar_url: '',
        email_verified: true,
      },
      refreshToken: null,
      authenticatedAt: null,
    },
    { nonce: randomUUID(), expiresAt: context.clock() + loginSeconds * 1000 },
    'the mock',
  )
  return `service_session=${session}`
}

export function helpText(publicUrl: string): string {
  const names = Object.entries(scenarios).map(([name, { does }]) => `  ${name.padEnd(18)} ${does}`)
  return `The mock is at ${publicUrl}, until Ctrl-C. Any name signs in.

An app on another origin may call it if CORS_ORIGIN lists that: CORS_ORIGIN=http://localhost:5173 npm run mock

Send the header or the query parameter x-scenario with a request or a WebSocket:

${names.join('\n')}`
}
