import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import * as limits from '../../../generated/keyring-limits.ts'
import { exportFile } from '../../protocol/export-file.ts'
import { ExportError, KeyringError } from '../errors.ts'
import { assertId, isId } from '../ids.ts'

/** A vault's keyring, and the user that it is bound to. */
export interface BackupKeyring {
  userId: string
  keyring: string
}

const magic = utf8ToBytes('EBSB')
const version = 1
/** Magic, version, length of the user id (1 byte) and of the keyring (2 bytes, big-endian). */
const prefixBytes = magic.length + 4
const checksumBytes = 32
const { maxLength: longestKeyring, pattern: keyringPattern } = limits.Keyring.keyring

/**
 * Puts the keyring in front of an export file, so that the passphrase or the recovery code opens it anywhere:
 * `EBSB`, version 1, length of the user id (1 byte), length of the keyring (2 bytes, big-endian), the user id, the keyring,
 * SHA-256 of all that, and the unchanged export file. The checksum finds damage, not an attack: a keyring that somebody
 * puts in opens with another passphrase, and its export key is not the one that the export file names.
 */
export function joinBackup({ userId, keyring }: BackupKeyring, exported: Blob): Blob {
  assertId(userId, 'userId')
  if (keyring.length > longestKeyring || !new RegExp(keyringPattern).test(keyring)) {
    throw new KeyringError('malformed', 'The keyring is malformed: it is too long, or not printable ASCII')
  }
  const lengths = Uint8Array.of(userId.length, keyring.length >> 8, keyring.length & 255)
  const head = concatBytes(magic, Uint8Array.of(version), lengths, utf8ToBytes(userId + keyring))
  return new Blob([Uint8Array.from(head), Uint8Array.from(sha256(head)), exported], { type: exported.type })
}

/**
 * Separates a saved backup into the export file and the keyring that it carries. An export file without one is returned as is.
 *
 * @throws ExportError `not-an-export`, `unknown-version`, `damaged`
 */
export async function splitBackup(file: Blob): Promise<{ exported: Blob; carried?: BackupKeyring }> {
  if (await beginsWith(file, utf8ToBytes(exportFile.magic))) return { exported: file }
  if (!(await beginsWith(file, magic))) throw new ExportError('not-an-export', 'This is not a backup')
  const prefix = await readBytes(file, 0, prefixBytes)
  const [found, userLength = 0, high = 0, low = 0] = prefix.subarray(magic.length)
  if (found !== undefined && found !== version) {
    throw new ExportError('unknown-version', `The backup has version ${found}, which this client does not know`)
  }
  const keyringStart = prefixBytes + userLength
  const headBytes = keyringStart + high * 256 + low
  const head = await readBytes(file, 0, headBytes)
  const checksum = await readBytes(file, headBytes, headBytes + checksumBytes)
  const text = new TextDecoder()
  const userId = text.decode(head.subarray(prefixBytes, keyringStart))
  const keyring = text.decode(head.subarray(keyringStart))
  const isWhole = bytesToHex(checksum) === bytesToHex(sha256(head))
  if (!isWhole || !isId(userId) || keyring.length > longestKeyring) {
    throw new ExportError('damaged', 'The keyring of the backup was altered, or the file ends within it')
  }
  const exported = file.slice(headBytes + checksumBytes)
  if (!(await beginsWith(exported, utf8ToBytes(exportFile.magic)))) {
    throw new ExportError('damaged', 'No export file follows the keyring of the backup')
  }
  return { exported, carried: { userId, keyring } }
}

async function beginsWith(file: Blob, bytes: Uint8Array): Promise<boolean> {
  return bytesToHex(await readBytes(file, 0, bytes.length)) === bytesToHex(bytes)
}

async function readBytes(file: Blob, start: number, end: number): Promise<Uint8Array> {
  return new Uint8Array(await file.slice(start, end).arrayBuffer())
}
