import { type Client, unwrap } from '../../client/index.ts'

export interface User {
  user_id: string
  name: string
}

/** Stores who signed in last. Without it nobody ever signed in here, so there is nobody to ask the service for. */
const remembered = 'signed-in-user'

/** Undefined if nobody is signed in. Offline, the last user, whose bookmarks are on this device. */
export async function findUser(client: Client): Promise<User | undefined> {
  const last = localStorage.getItem(remembered)
  if (last === null) return undefined
  try {
    const answer = await client.GET('/api/v1/auth/session')
    if (answer.response.status === 401) return undefined
    const { user_id, name } = unwrap(answer).user
    localStorage.setItem(remembered, JSON.stringify({ user_id, name }))
    return { user_id, name }
  } catch (error) {
    if (error instanceof TypeError && last) return JSON.parse(last) as User
    throw error
  }
}

/**
 * Leads to the provider's page, which leads back here.
 *
 * @param options.again whether the provider asks for the password in any case
 * @param options.to the view that it leads back to, as `hrefOf` returns it
 */
export async function signIn(client: Client, { again = false, to = '' } = {}): Promise<void> {
  const returnTo = `/${location.pathname === '/login' ? '' : location.search}${to}`
  const body = { returnTo, ...(again && { prompt: 'login' as const }) }
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body }))
  localStorage.setItem(remembered, '')
  location.assign(authorizationUrl)
}
