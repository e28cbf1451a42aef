import { answerFields } from '../../../generated/answers.ts'
import { AuthenticationRequired, InvalidSession, NoRefreshToken, RefreshFailed } from '../../../generated/errors.ts'
import { OfflineError } from '../errors.ts'

/**
 * True if the service seems to have sent this response, not a proxy, a captive portal or another server. Checks the body,
 * because they all send the same statuses.
 *
 * @param body the parsed JSON
 * @param operation method and path of the contract, as `GET/api/v1/account`; without it, every successful response counts
 */
export function isOurs(response: Response, body: unknown, operation = ''): boolean {
  const fields: Fields = Object(body)
  if (!response.ok) return isOurRefusal(response, fields)
  const [field, type] = answerFields.split(`\n${operation} `)[1]?.split(/[ \n]/, 2) ?? []
  if (field === undefined) return true
  const value = fields[field] ?? undefined
  return value === type || (Array.isArray(value) ? 'array' : typeof value) === type
}

/** `isOurs` for a response whose body is unread. */
export async function isOurResponse(response: Response, operation?: string): Promise<boolean> {
  const body = await response
    .clone()
    .json()
    .catch(() => undefined)
  return isOurs(response, body, operation)
}

type Fields = Record<string, unknown>

/** Checks `X-Error-Code` (any name) and the text's form; a 401 may have `authenticated: false` instead of a text. */
function isOurRefusal({ type, status, headers }: Response, body: Fields): boolean {
  const code = headers.get('x-error-code')
  const isSignedOut = status === 401 && body.authenticated === false
  const sentence = `${body.error}`
  if (code !== null) return /^[a-z]+$/i.test(code) && (isSignedOut || / [a-z]| URL$/.test(sentence))
  // If a proxy hides `X-Error-Code` from another origin's page, `Cache-Control`, which CORS always exposes, must do.
  const isUnreadable = type === 'cors' && !headers.has('x-request-id')
  if (!isUnreadable || headers.get('cache-control') !== 'private, no-store' || Object.keys(body)[1]) return false
  return status === 401 ? isSignedOut || ended.includes(sentence) : ourSentence.test(sentence)
}

/** The form of the contract's error texts. Other servers use HTTP's reason phrases, such as `Bad Request`. */
const ourSentence = /^[A-Z]\S*( [a-z]\S*)+$| must (be|have) /
const ended: string[] = [AuthenticationRequired[1], InvalidSession[1], NoRefreshToken[1], RefreshFailed[1]]

/** The error for a response that the service did not send: the same class as for a missing response. */
export function notOurs(response: Response, cause?: unknown): OfflineError {
  const { status, url } = response
  const from = url ? new URL(url).origin : 'What responded'
  const message = `${from} is not the service (status ${status}): wrong address, a proxy, or the network wants a sign-in`
  return new OfflineError(message, { cause, status, retryAfterMs: retryAfterMs(response) })
}

/** The response's `Retry-After` in ms. The service sends seconds, but a proxy may send a date. */
export function retryAfterMs({ headers }: Response): number | undefined {
  const asked = headers.get('retry-after') ?? ''
  const ms = /\D/.test(asked) ? Date.parse(asked) - Date.now() : Number.parseInt(asked, 10) * 1000
  return ms >= 0 ? ms : undefined
}
