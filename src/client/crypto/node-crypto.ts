type Bytes = Uint8Array<ArrayBuffer>

interface Decipher {
  setAAD(associatedData: Uint8Array, options: { plaintextLength: number }): void
  setAuthTag(tag: Uint8Array): void
  update(ciphertext: Uint8Array): Bytes
  /** @throws the tag does not match */
  final(): void
}

interface Hmac {
  update(bytes: Bytes): Hmac
  digest(): Bytes
}

export interface NodeCrypto {
  createHmac(algorithm: 'sha256', key: Uint8Array): Hmac
  getCiphers(): string[]
  hash(algorithm: 'sha256', bytes: Bytes, as: 'buffer'): Uint8Array
  createDecipheriv(
    cipher: 'chacha20-poly1305',
    key: Uint8Array,
    nonce: Uint8Array,
    options: { authTagLength: number },
  ): Decipher
}

interface NodePlatform {
  process?: { getBuiltinModule?(name: 'node:crypto'): NodeCrypto }
}

/** `node:crypto`, without an import that bundlers for browsers would follow. Undefined where there is none. */
export const nodeCrypto = (globalThis as NodePlatform).process?.getBuiltinModule?.('node:crypto')
