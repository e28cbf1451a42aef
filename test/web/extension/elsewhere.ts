import {
  type Client,
  createClient,
  createSync,
  memoryStore,
  openVault,
  rotateKeys,
  type Sync,
  unwrap,
} from '../../../src/client/index.ts'
import { httpCall, openBrowser } from '../../support/browser.ts'
import type { Service } from '../../support/service.ts'
import { passphrase } from '../fixture.ts'

/** A device of the same person, in this process. */
export async function openDevice(service: Service, name: string): Promise<Sync> {
  const { client, userId } = await signIn(service, name)
  const { keys } = await openVault(client, { userId, passphrase })
  const sync = createSync({ client, keys, userId, deviceId: 'elsewhere', store: memoryStore() })
  await sync.syncNow()
  return sync
}

/** As after the loss of another device. The passphrase stays. */
export async function replaceKeys(service: Service, name: string, sync: Sync): Promise<void> {
  const { client, userId } = await signIn(service, name)
  const { keys } = await (await rotateKeys(client, { userId, passphrase }, passphrase)).confirm()
  await sync.adoptKeys(keys)
}

async function signIn({ origin }: Service, name: string): Promise<{ client: Client; userId: string }> {
  const browser = openBrowser(httpCall(origin))
  await browser.signIn(name)
  const { service_session: session } = browser.cookies()
  const withCookie = (request: Request) => {
    request.headers.set('cookie', `service_session=${session}`)
    return fetch(request)
  }
  const client = createClient({ baseUrl: origin, deviceId: 'elsewhere', fetch: withCookie })
  const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
  return { client, userId }
}
