import { base64ToBytes as decode } from './base64/decode.ts'

export { bytesToBase64 } from './base64/encode.ts'

// The sync uses `base64/` instead, for the reason given in `record.ts`.
/** The bytes, or undefined if the text is not exactly what `bytesToBase64` returns for them. */
export function base64ToBytes(text: string): Uint8Array | undefined {
  return decode(text)
}
