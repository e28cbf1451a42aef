import { type Answer, type Call, type Forward, isCallOf } from './call.ts'

/** Session tokens that a refresh gave: those that came before it have expired. */
const refreshed = new Set<string>()

/** A session that was not refreshed in this scenario has expired. */
export async function expireOnce(call: Call, forward: Forward): Promise<Answer> {
  if (isCallOf('refreshSession', call)) {
    const answer = await forward(call)
    for (const token of tokensIn([answer.headers['set-cookie'] ?? []].flat().join(';'))) refreshed.add(token)
    return answer
  }
  const { cookie = '' } = call.headers
  const isRefreshed = tokensIn(cookie).some((token) => refreshed.has(token))
  return forward(
    isRefreshed ? call : withCookie(call, cookie.replace(/service_session=[^;]*/g, 'service_session=expired')),
  )
}

export function withCookie(call: Call, cookie: string): Call {
  return { ...call, headers: { ...call.headers, cookie } }
}

function tokensIn(cookies: string): string[] {
  return [...cookies.matchAll(/service_session=([^;,\s]+)/g)].map(([, token = '']) => token)
}
