import { createKeyring } from '../../src/client/crypto/keyring.ts'
import { type Client, unwrap } from '../../src/client/index.ts'
import { Device } from '../demo/device.ts'
import { signIn } from '../demo/sign-in.ts'

/** A caller: the values of the two cookies. */
export interface Identity {
  name: string
  session: string
  refresh: string
}

type SignedIn = Omit<Identity, 'name'> & { client: Client; userId: string }

export async function signInAs(url: URL, person: string): Promise<SignedIn> {
  const device = new Device(`${person}-device`, url)
  const userId = await signIn(device, person)
  const cookies = device.browser.cookiesFor(url.href)
  const value = (name: string) => new RegExp(`${name}=([^;]+)`).exec(cookies)?.[1] ?? ''
  return { client: device.client, userId, session: value('service_session'), refresh: value('service_refresh') }
}

/** Stores one of everything for the person, and returns the strings that nobody else may ever see. */
export async function storeSecrets({ client, userId }: SignedIn): Promise<string[]> {
  const bookmark = {
    id: 'secret-bookmark-of-ada',
    encrypted_data: 'c2VjcmV0LW9mLWFkYQ==',
    data_hash: 'secret-hash-of-ada',
  }
  const { keyring } = await createKeyring({ userId, passphrase: 'of ada alone' })
  unwrap(await client.POST('/api/v1/bookmarks', { body: bookmark }))
  unwrap(await client.PUT('/api/v1/account/keyring', { body: { keyring, revision: 1 } }))
  const { id } = unwrap(await client.POST('/api/v1/exports'))
  const { key } = unwrap(await client.GET('/api/v1/account/export-key'))
  return [userId, ...Object.values(bookmark), keyring, id, key]
}
