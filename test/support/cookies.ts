import type { Answered } from './contract.ts'

/** A parsed Set-Cookie header. */
export interface SetCookie {
  name: string
  value: string
  /** The attributes by lower-case name. True for one without a value. */
  attributes: Record<string, string | true>
}

/** The cookies that a response sets, in its order. */
export function setCookies({ headers }: Pick<Answered, 'headers'>): SetCookie[] {
  const lines = [headers['set-cookie'] ?? []].flat().map(String)
  return lines.map((line) => {
    const [[name, value], ...attributes] = line.split(';').map((part) => pair(part.trim())) as [Pair, ...Pair[]]
    return {
      name,
      value: String(value),
      attributes: Object.fromEntries(attributes.map(([key, value]) => [key.toLowerCase(), value])),
    }
  })
}

type Pair = [string, string | true]

function pair(part: string): Pair {
  const at = part.indexOf('=')
  return at < 0 ? [part, true] : [part.slice(0, at), part.slice(at + 1)]
}
