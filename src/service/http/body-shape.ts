/** Parsing so many takes little time, however they are nested. Unknown fields, which are ignored, may use them. */
const tokensOfAny = 100_000
/** A change has 40 tokens, a pulled sync event that is sent back 47. */
const tokensOfElement = 50

/** For a body whose arrays may have so many elements. */
export function maxTokensFor(maxElements: number): number {
  return tokensOfAny + tokensOfElement * maxElements
}

/** Says what is wrong with a body, as soon as the bytes so far show that it cannot be valid. */
export type ShapeCheck = (chunk: Buffer) => string | undefined

/**
 * Bounds what parsing a body may cost: how many tokens it has, and so how deep it is nested. A token is what opens an
 * object, an array or a string, a comma or a colon. Whether the body is JSON is not checked. A body of so many bytes at
 * most is looked at until its rest is too short for more tokens than there may be.
 */
export function createShapeCheck(maxTokens: number, maxBytes: number): ShapeCheck {
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
