/** ECMAScript 2026 has these methods, which are many times as fast as `btoa` and `atob`. */
interface NewerBytes {
  toBase64?(): string
}

interface Decoder {
  fromBase64?(text: string, options: { lastChunkHandling: 'strict' }): Uint8Array<ArrayBuffer>
}

/** Base64 with padding (RFC 4648 section 4). */
export function bytesToBase64(bytes: Uint8Array): string {
  const newer = bytes as NewerBytes
  if (newer.toBase64) return newer.toBase64()
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

/** The bytes, or undefined if the text is not exactly what `bytesToBase64` returns for them. */
export function base64ToBytes(text: string): Uint8Array | undefined {
  const bytes = decode(text)
  // Decoding ignores spaces, so the length is compared.
  return bytes && Math.ceil(bytes.length / 3) * 4 === text.length ? bytes : undefined
}

function decode(text: string): Uint8Array | undefined {
  const { fromBase64 } = Uint8Array as Decoder
  try {
    return fromBase64 ? fromBase64(text, { lastChunkHandling: 'strict' }) : fromBinary(text, atob(text))
  } catch {
    return undefined
  }
}

/** `atob` also ignores missing padding and unused bits, so the last four characters are compared. */
function fromBinary(text: string, binary: string): Uint8Array | undefined {
  if (btoa(binary.slice(-(binary.length % 3 || 3))) !== text.slice(-4)) return undefined
  return binaryToBytes(binary)
}

/** One byte for each character, which must be at most U+00FF. */
export function binaryToBytes(binary: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}
