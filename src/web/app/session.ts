import { ApiError, type Client, OfflineError, unwrap } from '../../client/index.ts'

export interface User {
  user_id: string
  name: string
}

/** Stores who signed in last. Without it nobody ever signed in here, so there is nobody to ask the service for. */
const remembered = 'signed-in-user'

/** After this, the page opens with what is on this device; whether the person is still signed in shows later. */
const patienceMs = 4000

/** Stored instead of the user after a sign-out of which the service could not be told. */
const leaving = 'leaving'

/** The view that the person comes back to. It stays in this tab: the service never sees that part of an address. */
const cameFrom = 'came-from'

/** A time in the person's history, before which nobody had gone back. */
export const placeBefore = 'before-going-back'

/** What is left in this browser tells neither who was here nor when. */
export function forgetUser(): void {
  localStorage.removeItem(remembered)
  localStorage.removeItem(placeBefore)
}

/** Ends the session as soon as the service can be told, before anything else. */
export function endSessionLater(): void {
  forgetUser()
  localStorage.setItem(remembered, leaving)
}

/** Undefined if nobody is signed in. Without an answer, the last user, whose bookmarks are on this device. */
export async function findUser(client: Client): Promise<User | undefined> {
  const last = localStorage.getItem(remembered)
  if (last === null) return undefined
  if (last === leaving) {
    const { response } = await client.POST('/api/v1/auth/logout').catch(offline)
    if (response?.ok || response?.status === 401) localStorage.removeItem(remembered)
    return undefined
  }
  try {
    const answer = await client.GET('/api/v1/auth/session', { signal: last ? AbortSignal.timeout(patienceMs) : null })
    if (answer.response.status === 401) return undefined
    const { user_id, name } = unwrap(answer).user
    localStorage.setItem(remembered, JSON.stringify({ user_id, name }))
    return { user_id, name }
  } catch (error) {
    if (last && isNoAnswer(error)) return JSON.parse(last) as User
    throw error
  }
}

/** Also if it has a problem, or no time: neither says anything about the person. */
function isNoAnswer(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500 || error.status === 429
  return error instanceof OfflineError || (error instanceof DOMException && error.name === 'TimeoutError')
}

function offline(error: unknown): { response?: Response } {
  if (error instanceof OfflineError) return {}
  throw error
}

/**
 * Leads to the provider's page, which leads back here.
 *
 * @param options.again whether the provider asks for the password in any case
 * @param options.to the view that it leads back to, as `hrefOf` returns it
 */
export async function signIn(client: Client, { again = false, to = location.hash } = {}): Promise<void> {
  // With the origin, because some providers refuse a state of less than 8 characters.
  const returnTo = `${location.origin}/${location.pathname === '/login' ? '' : location.search}`
  const body = { returnTo, ...(again && { prompt: 'login' as const }) }
  const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body }))
  localStorage.setItem(remembered, '')
  sessionStorage.setItem(cameFrom, to)
  location.assign(authorizationUrl)
}

/** Shows the view from which the person went to sign in, such as the form that the bookmarklet has filled. */
export function comeBack(): void {
  const view = sessionStorage.getItem(cameFrom)
  sessionStorage.removeItem(cameFrom)
  if (view && location.hash === '') history.replaceState(null, '', view)
}
