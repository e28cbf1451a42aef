import { createKeyring } from '../../src/client/crypto/keyring.ts'
import { type Client, unwrap } from '../../src/client/index.ts'
import { Device } from '../demo/device.ts'
import { signIn } from '../demo/sign-in.ts'

export interface SignedIn {
  client: Client
  userId: string
  /** The values of the two cookies. */
  session: string
  refresh: string
}

export async function signInAs(url: URL, person: string): Promise<SignedIn> {
  const device = new Device(`${person}-device`, url)
  const userId = await signIn(device, person)
  const cookies = device.browser.cookiesFor(url.href)
  const value = (name: string) => new RegExp(`${name}=([^;]+)`).exec(cookies)?.[1] ?? ''
  return { client: device.client, userId, session: value('service_session'), refresh: value('service_refresh') }
}

/**
 * Stores an export, a bookmark and a keyring. Returns the strings that nobody else may see, with the export key, and the
 * `id` of both the export and the bookmark, with which others try to read them.
 */
export async function storeSecrets({ client, userId }: SignedIn): Promise<{ secrets: string[]; id: string }> {
  const { keyring } = await createKeyring({ userId, passphrase: 'of ada alone' })
  const { id } = unwrap(await client.POST('/api/v1/exports'))
  const content = { encrypted_data: 'c2VjcmV0LW9mLWFkYQ==', data_hash: 'secret-hash-of-ada' }
  unwrap(await client.POST('/api/v1/bookmarks', { body: { id, ...content } }))
  unwrap(await client.PUT('/api/v1/account/keyring', { body: { keyring, revision: 1 } }))
  const { key } = unwrap(await client.GET('/api/v1/account/export-key'))
  return { secrets: [userId, ...Object.values(content), keyring, key], id }
}
