import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { buildApp, type TestApp, type TestUser } from './app.ts'
import { type Command, startCommand } from './command.ts'
import { databaseUrl } from './database-url.ts'
import type { MockProvider } from './providers.ts'
import { relyingParty, startMock } from './relying-party.ts'
import { folder } from './service.ts'

export const [older, newer] = [secret(1), secret(2)]

function secret(byte: number): string {
  return Buffer.alloc(32, byte).toString('base64')
}

/** A service on one database that can be restarted with another SECRET_KEY, and `ebs reseal` for the same database. */
export interface Rotation {
  mock: MockProvider
  /** Sends a request to the running service. */
  call: TestApp['call']
  start(secretKey: string): Promise<TestApp>
  reseal(secretKey: string): Command
  /** The command's environment variables besides SECRET_KEY. */
  env: Record<string, string>
}

export async function openRotation(t: Test): Promise<Rotation> {
  const dataDir = await folder(t)
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  const mock = await startMock(t)
  const { clientId: OIDC_CLIENT_ID, clientSecret: OIDC_CLIENT_SECRET } = relyingParty
  const provider = { OIDC_ISSUER: mock.issuer, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }
  let running: TestApp | undefined
  return {
    mock,
    env,
    async call(...request) {
      if (!running) throw new Error('no service is running')
      return running.call(...request)
    },
    async start(SECRET_KEY) {
      await running?.close()
      running = await buildApp(t, { ...provider, SECRET_KEY }, { dataDir })
      return running
    },
    reseal: (SECRET_KEY) => startCommand(t, 'reseal', [], { ...env, SECRET_KEY }),
  }
}

const path = '/api/v1/account/export-key'

/** Registers a new export key and returns it. */
export async function changeExportKey(user: Pick<TestUser, 'call'>): Promise<string> {
  const key = randomBytes(32).toString('base64')
  const { status } = await user.call('PUT', path, { body: { key } })
  if (status !== 200) throw new Error(`PUT export-key responded with ${status}`)
  return key
}

export async function readExportKey(user: Pick<TestUser, 'call'>, exportId?: string): Promise<string> {
  const { body } = await user.call('GET', exportId ? `${path}?export=${exportId}` : path)
  return body.key
}
