import { openWith } from './aead/node.ts'
import { open as openByLibrary } from './aead/open.ts'
import { nodeCrypto } from './node-crypto.ts'

/** By Node's own cipher where there is one: the `node:crypto` of Bun and Electron lacks it. */
export const open: typeof openByLibrary = nodeCrypto?.getCiphers().includes('chacha20-poly1305')
  ? openWith(nodeCrypto)
  : openByLibrary
