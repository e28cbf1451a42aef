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
  if (binary === undefined || !isCanonical(text, binary)) return undefined
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

/** `atob` passes over spaces, missing padding and unused bits: they show in the length, or in the last four characters. */
function isCanonical(text: string, binary: string): boolean {
  const end = binary.length % 3 || 3
  return text.length === Math.ceil(binary.length / 3) * 4 && text.slice(-4) === btoa(binary.slice(-end))
}

function decode(text: string): string | undefined {
  try {
    return atob(text)
  } catch {
    return undefined
  }
}
