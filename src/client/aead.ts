import { openWith } from './aead/node.ts'
import { open as openByLibrary } from './aead/open.ts'
import { nodeCrypto } from './node-crypto.ts'

/** By Node's own cipher where there is one. */
export const open: typeof openByLibrary = nodeCrypto ? openWith(nodeCrypto) : openByLibrary
