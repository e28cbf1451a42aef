import { open as openByLibrary } from './aead/library.ts'
import { openWith } from './aead/node.ts'
import { nodeCrypto } from './node-crypto.ts'

export { seal } from './aead/library.ts'

/** Sizes of XChaCha20-Poly1305 in bytes. */
export const NONCE_BYTES = 24
export const TAG_BYTES = 16

/** By Node's own cipher where there is one. */
export const open: typeof openByLibrary = nodeCrypto ? openWith(nodeCrypto) : openByLibrary
