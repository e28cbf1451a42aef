// String.fromCharCode takes its characters as arguments, of which engines allow only so many.
const RUN = 8192

interface Base64Platform {
  fromBase64?(text: string, options: { lastChunkHandling: 'strict' }): Uint8Array<ArrayBuffer>
}

/** Of newer platforms (ECMAScript 2026), and several times as fast as `atob`. */
const { fromBase64 } = Uint8Array as Base64Platform

/** Base64 with padding (RFC 4648 section 4). */
export function bytesToBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < bytes.length; start += RUN) {
    binary += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(start, start + RUN))
  }
  return btoa(binary)
}

/** The bytes, or undefined unless the text is exactly what `bytesToBase64` makes of them. */
export function base64ToBytes(text: string): Uint8Array | undefined {
  const bytes = decode(text)
  // Spaces inside, which decoding passes over, show in the length.
  return bytes && Math.ceil(bytes.length / 3) * 4 === text.length ? bytes : undefined
}

function decode(text: string): Uint8Array | undefined {
  try {
    return fromBase64 ? fromBase64(text, { lastChunkHandling: 'strict' }) : fromBinary(text, atob(text))
  } catch {
    return undefined
  }
}

/** `atob` passes over missing padding and unused bits, too: they show in the last four characters. */
function fromBinary(text: string, binary: string): Uint8Array | undefined {
  if (btoa(binary.slice(-(binary.length % 3 || 3))) !== text.slice(-4)) return undefined
  return binaryToBytes(binary)
}

/** Of characters up to U+00FF, a byte each. */
export function binaryToBytes(binary: string): Uint8Array {
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}
