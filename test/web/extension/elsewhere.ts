import {
  type Client,
  changeVaultPassphrase,
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
  return (await openAccount(service, name)).sync
}

/** A device in this process, and the account of its user, who can do there what is done on a service's page. */
export interface Account {
  sync: Sync
  /** As after the loss of another device. The passphrase stays. */
  replaceKeys(): Promise<void>
  changePassphrase(from: string, to: string): Promise<void>
  /** Takes the other devices off the list. */
  forgetOthers(): Promise<number>
}

export async function openAccount(service: Service, name: string): Promise<Account> {
  const { client, userId } = await signIn(service, name)
  const { keys } = await openVault(client, { userId, passphrase })
  const sync = createSync({ client, keys, userId, deviceId: 'elsewhere', store: memoryStore() })
  await sync.syncNow()
  return {
    sync,
    async replaceKeys() {
      const { keys } = await (await rotateKeys(client, { userId, passphrase }, passphrase)).confirm()
      await sync.adoptKeys(keys)
    },
    changePassphrase: (from, to) => changeVaultPassphrase(client, { userId, passphrase: from }, to),
    async forgetOthers() {
      const { devices } = unwrap(await client.GET('/api/v1/account/devices', {}))
      const others = devices.filter(({ id }) => id !== 'elsewhere')
      for (const { id } of others) {
        unwrap(await client.DELETE('/api/v1/account/devices/{id}', { params: { path: { id } } }))
      }
      return others.length
    },
  }
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
