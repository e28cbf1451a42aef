/**
 * The layout of an export file: a header (magic, version byte, key id, nonce prefix), then chunks of XChaCha20-Poly1305 in
 * the STREAM construction, each followed by its tag. The key id is the start of SHA-256(`keyIdInfo` || export key).
 */
export const exportFile = {
  magic: 'EBSX',
  version: 1,
  keyIdInfo: 'ebs/key-id',
  keyIdBytes: 8,
  noncePrefixBytes: 19,
  headerBytes: 32,
  /** Bytes of plaintext; the last chunk may have fewer, but has at least one. */
  chunkBytes: 65_536,
  tagBytes: 16,
  /** The `version` field of the JSON inside. */
  contentVersion: '1',
} as const
