/** Newer platforms (ECMAScript 2026) have a method that is many times as fast as `btoa`. */
interface Base64Encoder {
  toBase64?(): string
}

/** Base64 with padding (RFC 4648 section 4). */
export function bytesToBase64(bytes: Uint8Array): string {
  const newer = bytes as Base64Encoder
  if (newer.toBase64) return newer.toBase64()
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}
