// A second implementation of the client's formats, on libsodium and OpenSSL. It made the vectors and checks them.
import { argon2Sync, createHash, createHmac, hkdfSync } from 'node:crypto'
import sodium from 'libsodium-wrappers'

await sodium.ready

export interface SubKeys {
  record_key: string
  hash_key: string
  export_key: string
  keyring_key: string
  id_key: string
}

export function fromHex(hex: string): Buffer {
  return Buffer.from(hex, 'hex')
}

export function seal(
  key: Uint8Array,
  nonce: Uint8Array,
  associated: Uint8Array | string,
  plaintext: Uint8Array,
): Buffer {
  return Buffer.from(sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, associated, null, nonce, key))
}

export function open(key: Uint8Array, nonce: Uint8Array, associated: Uint8Array | string, sealed: Uint8Array): Buffer {
  return Buffer.from(sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, sealed, associated, nonce, key))
}

export function hkdf(secret: Uint8Array, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', info, 32))
}

/** The id of a master key (8 bytes). In records under rotated keys, it follows the format's byte. */
export function keyId(masterKey: Uint8Array): Buffer {
  return hkdf(masterKey, 'ebs/key-id/1').subarray(0, 8)
}

export function subKeys(masterKey: Uint8Array): SubKeys {
  const hex = (info: string) => hkdf(masterKey, info).toString('hex')
  return {
    record_key: hex('ebs/record/1'),
    hash_key: hex('ebs/hash/1'),
    export_key: hex('ebs/export/1'),
    keyring_key: hex('ebs/keyring/1'),
    id_key: hex('ebs/id/1'),
  }
}

/** A record in format 2 if there is a key id, otherwise in format 1. */
export function sealRecord(
  keys: SubKeys,
  entityType: string,
  id: string,
  json: string,
  nonce: Uint8Array,
  keyId?: Uint8Array,
) {
  let length = Buffer.byteLength(json)
  let padded = json
  for (; length % 256 !== 0; length++) padded += ' '
  const salt = createHmac('sha256', fromHex(keys.hash_key)).update(padded).digest()
  const plaintext = Buffer.concat([salt, Buffer.from(padded)])
  const sealed = seal(fromHex(keys.record_key), nonce, `ebs/1\0${entityType}\0${id}`, plaintext)
  return {
    encrypted_data: Buffer.concat([keyId ? Buffer.of(2, ...keyId) : Buffer.of(1), nonce, sealed]).toString('base64'),
    data_hash: createHash('sha256').update(plaintext).digest('hex'),
  }
}

/** The padded JSON in a record, after its salt and hash were checked. */
export function openRecord(
  keys: SubKeys,
  entityType: string,
  id: string,
  record: { encrypted_data: string; data_hash: string },
  keyId?: Uint8Array,
) {
  const plaintext = openPlaintext(keys, entityType, id, record.encrypted_data, keyId)
  if (createHash('sha256').update(plaintext).digest('hex') !== record.data_hash) throw new Error('hash')
  return plaintext.subarray(32).toString()
}

/** The text of a record without a hash: the name of a device. */
export function openSealed(keys: SubKeys, entityType: string, id: string, encryptedData: string): string {
  return openPlaintext(keys, entityType, id, encryptedData).subarray(32).toString()
}

function openPlaintext(keys: SubKeys, entityType: string, id: string, encryptedData: string, keyId?: Uint8Array) {
  const bytes = Buffer.from(encryptedData, 'base64')
  const prefix = keyId ? Buffer.of(2, ...keyId) : Buffer.of(1)
  if (!bytes.subarray(0, prefix.length).equals(prefix)) throw new Error('prefix')
  const binding = `ebs/1\0${entityType}\0${id}`
  const [nonce, sealed] = [bytes.subarray(prefix.length, prefix.length + 24), bytes.subarray(prefix.length + 24)]
  const plaintext = open(fromHex(keys.record_key), nonce, binding, sealed)
  const salt = createHmac('sha256', fromHex(keys.hash_key)).update(plaintext.subarray(32)).digest()
  if (!salt.equals(plaintext.subarray(0, 32))) throw new Error('salt')
  return plaintext
}

interface PassphraseWrap {
  kdf: string
  memory_kib: number
  iterations: number
  parallelism: number
  salt: string
  nonce: string
  wrapped_key: string
}

export interface KeyringJson {
  format: string
  passphrase: PassphraseWrap
  recovery: { kdf: string; nonce: string; wrapped_key: string }
  key_id?: string
  older?: { kdf: string; nonce: string; wrapped_keys: string }
  mac?: string
}

export function passphraseKey(passphrase: string, wrap: Omit<PassphraseWrap, 'nonce' | 'wrapped_key'>): Buffer {
  return argon2Sync('argon2id', {
    message: passphrase.normalize('NFKC'),
    nonce: Buffer.from(wrap.salt, 'base64'),
    memory: wrap.memory_kib,
    passes: wrap.iterations,
    parallelism: wrap.parallelism,
    tagLength: 32,
  })
}

export function passphraseBinding(
  userId: string,
  wrap: Omit<PassphraseWrap, 'nonce' | 'wrapped_key'>,
  format = 'ebs/keyring/1',
): string {
  return `${format}\0${userId}\0argon2id\0${wrap.memory_kib}\0${wrap.iterations}\0${wrap.parallelism}\0${wrap.salt}`
}

export function recoveryBinding(userId: string, format = 'ebs/keyring/1'): string {
  return `${format}\0${userId}\0hkdf-sha256`
}

export function olderBinding(userId: string): string {
  return `ebs/keyring/2\0${userId}\0older`
}

/** The MAC that this keyring should have. */
export function keyringMac(keyring: string, userId: string, newestMasterKey: Uint8Array): string {
  const { format, key_id, passphrase: p, recovery: r, older } = JSON.parse(keyring) as KeyringJson
  const parts: (string | number)[] = [format, userId]
  if (older) parts.push(key_id ?? '')
  parts.push(p.kdf, p.memory_kib, p.iterations, p.parallelism, p.salt, p.nonce, p.wrapped_key)
  parts.push(r.kdf, r.nonce, r.wrapped_key)
  if (older) parts.push(older.kdf, older.nonce, older.wrapped_keys)
  return createHmac('sha256', fromHex(subKeys(newestMasterKey).keyring_key))
    .update(parts.join('\0'))
    .digest('base64')
}

/** The 16 bytes of a recovery code, from the bits of its digits. */
export function recoveryBytes(code: string): Buffer {
  const digits = code.replaceAll('-', '').slice(0, 26)
  const bits = [...digits].map((digit) =>
    '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit).toString(2).padStart(5, '0'),
  )
  const octets = bits.join('').slice(2).match(/.{8}/g) ?? []
  return Buffer.from(octets.map((octet) => Number.parseInt(octet, 2)))
}

/** An export file with this text as its content. */
export function writeExport(exportKey: Uint8Array, prefix: Uint8Array, text: string | Uint8Array): Buffer {
  const plaintext = Buffer.from(text)
  const header = exportHeader(exportKey, prefix)
  const chunks = [header]
  const count = Math.ceil(plaintext.length / 65_536)
  for (let counter = 0; counter < count; counter++) {
    const part = plaintext.subarray(counter * 65_536, (counter + 1) * 65_536)
    chunks.push(seal(exportKey, exportNonce(prefix, counter, counter === count - 1), header, part))
  }
  return Buffer.concat(chunks)
}

export function exportHeader(exportKey: Uint8Array, prefix: Uint8Array): Buffer {
  const keyId = createHash('sha256').update('ebs/key-id').update(exportKey).digest().subarray(0, 8)
  return Buffer.concat([Buffer.from('EBSX'), Buffer.of(1), keyId, prefix])
}

/** A saved backup: the keyring, then the export file. */
export function writeBackup(userId: string, keyring: string, exported: Uint8Array): Buffer {
  const lengths = Buffer.alloc(3)
  lengths.writeUInt8(userId.length)
  lengths.writeUInt16BE(keyring.length, 1)
  const head = Buffer.concat([Buffer.from('EBSB'), Buffer.of(1), lengths, Buffer.from(userId + keyring)])
  return Buffer.concat([head, createHash('sha256').update(head).digest(), exported])
}

function exportNonce(prefix: Uint8Array, counter: number, last: boolean): Buffer {
  const tail = Buffer.alloc(5)
  tail.writeUInt32BE(counter)
  tail.writeUInt8(last ? 1 : 0, 4)
  return Buffer.concat([prefix, tail])
}
