import { createClient, createSync, memoryStore, openVault, type Sync, unwrap } from '../../../src/client/index.ts'
import { httpCall, openBrowser } from '../../support/browser.ts'
import type { Service } from '../../support/service.ts'
import { passphrase } from '../fixture.ts'

/** A device of the same person, in this process. */
export async function openDevice({ origin }: Service, name: string): Promise<Sync> {
  const browser = openBrowser(httpCall(origin))
  await browser.signIn(name)
  const { service_session: session } = browser.cookies()
  const withCookie = (request: Request) => {
    request.headers.set('cookie', `service_session=${session}`)
    return fetch(request)
  }
  const client = createClient({ baseUrl: origin, deviceId: 'elsewhere', fetch: withCookie })
  const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
  const { keys } = await openVault(client, { userId, passphrase })
  const sync = createSync({ client, keys, userId, deviceId: 'elsewhere', store: memoryStore() })
  await sync.syncNow()
  return sync
}
