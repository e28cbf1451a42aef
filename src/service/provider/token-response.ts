import { type Claims, presentIn } from './claims.ts'

const optionalMembers = ['refresh_token', 'id_token']
const requiredMembers = ['access_token', 'token_type']

/** A response of the token endpoint that the library accepts. */
interface TokenResponse {
  response: Response
  /** The ID token as the provider signed it, if the one in `response` was changed. */
  signed?: string
}

/**
 * Removes members that are unused or stand for a missing value, because the library would refuse the whole response: a
 * `scope` or `refresh_token` that is null, or an `auth_time` that is a text.
 */
export async function tolerant(response: Response): Promise<TokenResponse> {
  if (!response.ok) return { response }
  const body = await jsonOf(response)
  if (body === undefined) return { response }
  const present = presentIn(body)
  const kept = Object.fromEntries([
    ...requiredMembers.map((name) => [name, body[name]]),
    ...optionalMembers.flatMap((name) => (name in present ? [[name, present[name]]] : [])),
  ])
  const idToken = typeof kept.id_token === 'string' ? withoutWrongTime(kept.id_token) : undefined
  const { status, headers } = response
  const changed = JSON.stringify(idToken === undefined ? kept : { ...kept, id_token: idToken })
  return {
    response: new Response(changed, { status, headers }),
    ...(idToken !== undefined && { signed: kept.id_token }),
  }
}

/** The payload of an unverified JWT; undefined if it is unreadable. */
export function unverifiedPayload(jwt: string): Claims | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
    return isObject(payload) ? payload : undefined
  } catch {
    return undefined
  }
}

/** The token without a wrong `auth_time`, such as null, a text, 0 or the year 1. Undefined if it has none. */
function withoutWrongTime(jwt: string): string | undefined {
  const [header, , ...rest] = jwt.split('.')
  const claims = unverifiedPayload(jwt)
  if (claims === undefined || !('auth_time' in claims) || isTime(claims.auth_time)) return undefined
  const { auth_time: _wrong, ...others } = claims
  return [header, Buffer.from(JSON.stringify(others)).toString('base64url'), ...rest].join('.')
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

async function jsonOf(response: Response): Promise<Claims | undefined> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return isObject(body) ? body : undefined
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
