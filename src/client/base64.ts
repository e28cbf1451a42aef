// String.fromCharCode takes its characters as arguments, of which engines allow only so many.
const RUN = 8192

/** Base64 with padding (RFC 4648 section 4). */
export function bytesToBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < bytes.length; start += RUN) {
    binary += String.fromCharCode(...bytes.subarray(start, start + RUN))
  }
  return btoa(binary)
}

/** The bytes, or undefined unless the text is exactly what `bytesToBase64` makes of them. */
export function base64ToBytes(text: string): Uint8Array | undefined {
  const binary = decode(text)
  if (binary === undefined || btoa(binary) !== text) return undefined
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

function decode(text: string): string | undefined {
  try {
    return atob(text)
  } catch {
    return undefined
  }
}
