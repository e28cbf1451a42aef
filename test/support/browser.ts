import { signInAt } from '../../scripts/servers/sign-in.ts'
import type { TestApp } from './app.ts'
import type { Answered } from './contract.ts'
import { setCookies } from './cookies.ts'

type Call = TestApp['call']

/** A browser that uses the service: it stores cookies as told, and sends them back by path. */
export interface Browser {
  /** The cookies' values by name. */
  cookies(path?: string): Record<string, string>
  call: Call
  /** Starts a sign-in in a new tab and returns the provider's URL. */
  startLogin(returnTo?: string): Promise<string>
  /** Follows the provider's redirect: calls the callback on the service, wherever it listens. */
  comeBack(callback: string): Promise<Answered>
  /** Runs a whole sign-in, typing `name` where the provider asks for it. */
  signIn(name: string, returnTo?: string): Promise<Answered>
}

/** `send` is an app's `call`, or `callsTo` for real HTTP. */
export function openBrowser(send: Call): Browser {
  const jar = new Map<string, { value: string; path: string }>()
  const cookies = (path = '/api/v1/auth/') =>
    Object.fromEntries([...jar].filter(([, it]) => path.startsWith(it.path)).map(([name, it]) => [name, it.value]))

  const call: Call = async (method, path, { headers, ...request } = {}) => {
    const sent = Object.entries(cookies(path)).map(([name, value]) => `${name}=${value}`)
    const cookie = sent.length > 0 ? { cookie: sent.join('; ') } : {}
    const answer = await send(method, path, { ...request, headers: { ...cookie, ...headers } })
    for (const { name, value, attributes } of setCookies(answer)) {
      if (attributes['max-age'] === '0') jar.delete(name)
      else jar.set(name, { value, path: String(attributes.path) })
    }
    return answer
  }
  async function startLogin(returnTo?: string): Promise<string> {
    const { body } = await call('POST', '/api/v1/auth/login', { body: returnTo === undefined ? {} : { returnTo } })
    return body.authorizationUrl
  }
  async function comeBack(callback: string): Promise<Answered> {
    const { pathname, search } = new URL(callback)
    return call('GET', pathname + search)
  }
  return {
    cookies,
    call,
    startLogin,
    comeBack,
    signIn: async (name, returnTo) => comeBack(await signInAt(await startLogin(returnTo), name)),
  }
}
