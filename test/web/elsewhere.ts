import type { Test } from 'tap'
import {
  createClient,
  createSync,
  historyId,
  type Keys,
  memoryStore,
  openVault,
  type Sync,
  unwrap,
} from '../../src/client/index.ts'
import { openBrowser } from '../support/browser.ts'
import { callsTo } from '../support/service.ts'

export interface Elsewhere {
  sync: Sync
  keys: Keys
}

/** Another device of a person, without a page. It syncs all entity types. */
export async function openElsewhere(
  t: Test,
  origin: string,
  name: string,
  secret: { recoveryCode: string } | { passphrase: string },
): Promise<Elsewhere> {
  const browser = openBrowser(callsTo(origin))
  await browser.signIn(name)
  const withCookie = (request: Request) => {
    request.headers.set('cookie', `service_session=${browser.cookies().service_session}`)
    return fetch(request)
  }
  const deviceId = 'elsewhere'
  const client = createClient({ baseUrl: origin, deviceId, fetch: withCookie })
  const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
  const { keys } = await openVault(client, { userId, ...secret })
  const types = ['bookmark', 'group', 'history'] as const
  const sync = createSync({ client, keys, userId, deviceId, types, store: memoryStore() })
  t.teardown(() => sync.stop())
  await sync.syncNow()
  return { sync, keys }
}

/** An entry of the browsing history, visited at these times, the latest first. */
export function visited(keys: Keys, url: string, title: string, visits: readonly Date[]) {
  const times = visits.map((time) => time.toISOString())
  const [dateVisited = '', dateAdded = ''] = [times[0], times.at(-1)]
  const common = { id: historyId(keys, url), url, title, source: 'history' } as const
  return { ...common, dateAdded, dateVisited, visits: times, visitCount: times.length }
}
