/** Valid bodies are three deep, those with every field of a sync event five. */
const maxDepth = 64
/** A change has 40 tokens, a pulled sync event that is sent back 47. Unknown fields, which are ignored, need some, too. */
const tokensOfElement = 50
const tokensBeside = 1024

/** Says what is wrong with a body, as soon as the bytes so far show that it cannot be valid. */
export type ShapeCheck = (chunk: Buffer) => string | undefined

/**
 * Bounds what parsing a body may cost: how deep it is nested, and how many tokens it has. A token is what opens an
 * object, an array or a string, a comma or a colon. Whether the body is JSON is not checked.
 */
export function createShapeCheck(maxElements: number): ShapeCheck {
  const maxTokens = tokensBeside + tokensOfElement * maxElements
  const findStringEnd = createStringScan()
  let [tokens, depth, inString] = [0, 0, false]
  return (chunk) => {
    for (let at = 0; at < chunk.length; at++) {
      if (inString) {
        at = findStringEnd(chunk, at)
        inString = at === chunk.length
        continue
      }
      const kind = kinds[chunk[at] as number]
      if (kind === other) continue
      if (kind === closing) {
        depth--
        continue
      }
      if (kind === opening && ++depth > maxDepth) return `must be nested at most ${maxDepth} deep`
      if (++tokens > maxTokens) return `must have at most ${maxTokens} JSON tokens`
      inString = kind === quote
    }
    return undefined
  }
}

const [other, opening, closing, separator, quote] = [0, 1, 2, 3, 4] as const
const kinds = new Uint8Array(256)
for (const byte of Buffer.from('{[')) kinds[byte] = opening
for (const byte of Buffer.from('}]')) kinds[byte] = closing
for (const byte of Buffer.from(',:')) kinds[byte] = separator
kinds[0x22] = quote

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
