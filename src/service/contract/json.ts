import { parse } from 'secure-json-parse'
import { InvalidBody } from './validation.ts'

/** JSON tokens (`{`, `[` and `,`) that a body or message may have. A push or import of 500 elements has about 6,000. */
const maxTokens = 10_000

/**
 * Parses JSON, and refuses members that could reach an object's prototype when copied. The token limit bounds time and
 * memory: a value may take 28 times the memory of its text.
 */
export function parseJson(bytes: Buffer, name = 'body'): unknown {
  if (bytes.length > maxTokens && countTokens(bytes) > maxTokens)
    throw new InvalidBody(`${name} must have at most ${maxTokens} JSON tokens`)
  try {
    return parse(bytes.toString())
  } catch (cause) {
    throw new InvalidBody(`${name} must be JSON`, { cause })
  }
}

/** Optimized, because it looks at each byte of a large body. */
function countTokens(bytes: Buffer): number {
  let tokens = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) {
      for (at++; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++
    } else if (byte === comma || byte === bracket || byte === brace) tokens++
  }
  return tokens
}

const quote = 0x22
const comma = 0x2c
const bracket = 0x5b
const backslash = 0x5c
const brace = 0x7b
