import type { PlaintextBookmark } from '../../bookmark.ts'
import { NONCE_BYTES, TAG_BYTES } from '../aead/form.ts'
import { SALT_BYTES } from './form.ts'
import { PADDING } from './seal.ts'

/** The length of `encrypted_data` once the bookmark is sealed under the vault's first key; 12 more under later ones. */
export function sealedLength(bookmark: PlaintextBookmark): number {
  const { length } = new TextEncoder().encode(JSON.stringify(bookmark))
  const bytes = 1 + NONCE_BYTES + SALT_BYTES + Math.ceil(length / PADDING) * PADDING + TAG_BYTES
  return Math.ceil(bytes / 3) * 4
}
