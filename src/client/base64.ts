// String.fromCharCode takes the characters as arguments, and engines limit the number of arguments.
const RUN = 8192

interface Base64Platform {
  fromBase64?(text: string, options: { lastChunkHandling: 'strict' }): Uint8Array<ArrayBuffer>
}

/** Exists on newer platforms (ECMAScript 2026) and is several times as fast as `atob`. */
const { fromBase64 } = Uint8Array as Base64Platform

/** Base64 with padding (RFC 4648 section 4). */
export function bytesToBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < bytes.length; start += RUN) {
    binary += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(start, start + RUN))
  }
  return btoa(binary)
}

/** The bytes, or undefined if the text is not exactly what `bytesToBase64` returns for them. */
export function base64ToBytes(text: string): Uint8Array | undefined {
  const bytes = decode(text)
  // Decoding ignores spaces; the length reveals them.
  return bytes && Math.ceil(bytes.length / 3) * 4 === text.length ? bytes : undefined
}

function decode(text: string): Uint8Array | undefined {
  try {
    return fromBase64 ? fromBase64(text, { lastChunkHandling: 'strict' }) : fromBinary(text, atob(text))
  } catch {
    return undefined
  }
}

/** `atob` also ignores missing padding and unused bits; the last four characters reveal them. */
function fromBinary(text: string, binary: string): Uint8Array | undefined {
  if (btoa(binary.slice(-(binary.length % 3 || 3))) !== text.slice(-4)) return undefined
  return binaryToBytes(binary)
}

/** One byte for each character, which must be at most U+00FF. */
export function binaryToBytes(binary: string): Uint8Array {
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}
