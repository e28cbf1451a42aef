import { nextTurn, pause } from '../thread/loop.ts'
import { measured } from '../thread/work.ts'

/** Parsing as much as this takes a few milliseconds. */
const smallLength = 1024 * 1024
const suspects = /__proto__"|constructor"/

/**
 * Parses JSON, and refuses members that would reach an object's prototype if somebody copied them. With a large text
 * the event loop turns between the steps; most are small, and need no promise.
 */
export function parseJson(text: string): unknown {
  const isLarge = text.length > smallLength
  return isLarge || isSuspect(text) ? parseInSteps(text, isLarge) : parse(text)
}

function parse(text: string): unknown {
  return measured(() => JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text))
}

async function parseInSteps(text: string, isLarge: boolean): Promise<unknown> {
  if (isLarge) await nextTurn()
  const value = parse(text)
  if (isLarge) await nextTurn()
  if (isSuspect(text)) await assertHarmless(value)
  if (isLarge) await nextTurn()
  return value
}

/** If not, no member has a name that matters, however it is escaped. */
function isSuspect(text: string): boolean {
  return suspects.test(text) || text.includes('\\u00')
}

async function assertHarmless(root: unknown): Promise<void> {
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (!isObject(value)) continue
    await pause()
    const maker: unknown = Object.getOwnPropertyDescriptor(value, 'constructor')?.value
    if (Object.hasOwn(value, '__proto__') || (isObject(maker) && Object.hasOwn(maker, 'prototype')))
      throw new SyntaxError('a member would reach a prototype')
    for (const member of Object.values(value)) waiting.push(member)
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Parsing so many takes little time, however they are nested. Unknown fields, which are ignored, may use them. */
const tokensOfAny = 100_000
/** A change has 40 tokens, a pulled sync event that is sent back 47. */
const tokensOfElement = 50

/** For a body whose arrays may have so many elements. */
export function maxTokensFor(maxElements: number): number {
  return tokensOfAny + tokensOfElement * maxElements
}

/**
 * Bounds what parsing a body may cost: how many tokens it has, and so how deep it is nested. A token is what opens an
 * object, an array or a string, a comma or a colon. The returned function names the fault as soon as the bytes so far show
 * it. A body of so many bytes at most is looked at until its rest is too short for more tokens than there may be; nobody
 * checks here that it is JSON.
 */
export function createShapeCheck(maxTokens: number, maxBytes: number): (chunk: Buffer) => string | undefined {
  const findStringEnd = createStringScan()
  let [tokens, inString] = [0, false]
  let rest = maxBytes
  return (chunk) => {
    if (tokens + rest <= maxTokens) return undefined
    rest -= chunk.length
    for (let at = 0; at < chunk.length; at++) {
      if (inString) {
        at = findStringEnd(chunk, at)
        inString = at === chunk.length
        continue
      }
      const byte = chunk[at] as number
      if (opensToken[byte] === 0) continue
      if (++tokens > maxTokens) return `must have at most ${maxTokens} JSON tokens`
      inString = byte === quoteByte
    }
    return undefined
  }
}

const opensToken = new Uint8Array(256)
for (const byte of Buffer.from('{[",:')) opensToken[byte] = 1

const [quoteByte, backslashByte] = [0x22, 0x5c]

/** Returns a function that finds the quote at a string's end, or the chunk's end if the string goes on in the next one. */
function createStringScan(): (chunk: Buffer, from: number) => number {
  let isEscaped = false
  let searched: Buffer | undefined
  let nextBackslash = 0
  return (chunk, from) => {
    let at = from
    if (!isEscaped) {
      const end = indexOf(chunk, quoteByte, from)
      if (chunk !== searched || nextBackslash < from) nextBackslash = indexOf(chunk, backslashByte, from)
      searched = chunk
      at = Math.min(end, nextBackslash)
    }
    // Searching is fast where escapes are rare. From the first one on, it looks at each byte of the string.
    for (; at < chunk.length; at++) {
      if (isEscaped) isEscaped = false
      else if (chunk[at] === backslashByte) isEscaped = true
      else if (chunk[at] === quoteByte) return at
    }
    return at
  }
}

function indexOf(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from)
  return at === -1 ? chunk.length : at
}
