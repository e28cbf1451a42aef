let last = 0
let count = 0

/** A UUID of version 7 (RFC 9562): 48 bits of time (Unix ms), 12 bits that count within it, 62 random bits. They rise. */
export function uuidv7(): string {
  const now = Date.now()
  count = now > last ? 0 : (count + 1) % 4096
  last = Math.max(now, count === 0 ? last + 1 : last)
  const random = crypto.getRandomValues(new Uint8Array(8))
  random[0] = ((random[0] as number) & 0x3f) | 0x80
  const hex = `${toHex(last, 12)}7${toHex(count, 3)}${Array.from(random, (byte) => toHex(byte, 2)).join('')}`
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function toHex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
