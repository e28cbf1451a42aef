import { createApi } from '../demo/api.ts'
import { openBrowser } from '../demo/browser.ts'
import { signIn } from '../demo/sign-in.ts'

/** Who calls: the values of the two cookies. */
export interface Identity {
  name: string
  session: string
  refresh: string
}

type SignedIn = Omit<Identity, 'name'> & { api: ReturnType<typeof createApi>; userId: string }

export async function signInAs(url: URL, person: string): Promise<SignedIn> {
  const browser = openBrowser()
  const api = createApi(url, `${person}-device`, browser)
  const { userId } = await signIn(api, browser, person)
  const cookies = browser.cookiesFor(new URL('/api/v1/auth/refresh', url))
  const value = (name: string) => new RegExp(`${name}=([^;]+)`).exec(cookies)?.[1] ?? ''
  return { api, userId, session: value('service_session'), refresh: value('service_refresh') }
}

/** Gives the person one of everything, and returns the texts that nobody else may ever see. */
export async function storeSecrets({ api, userId }: SignedIn): Promise<string[]> {
  const secret = 'c2VjcmV0LW9mLWFkYQ=='
  await api.call('createBookmark', {
    body: { id: 'secret-bookmark-of-ada', encrypted_data: secret, data_hash: 'secret-hash-of-ada' },
  })
  await api.call('setKeyring', { body: { keyring: 'secret-keyring-of-ada', revision: 1 } })
  const { id } = await api.call('createExport')
  const { key } = await api.call('getExportKey')
  return [userId, secret, 'secret-bookmark-of-ada', 'secret-hash-of-ada', 'secret-keyring-of-ada', id, key]
}
