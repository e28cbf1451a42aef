import { randomBytes } from 'node:crypto'
import type { Binding, Seal } from './seal.ts'

/** Seals an export key for its row: the user's key for the user, a file's key for its export. */
export function sealExportKey(seal: Seal, userId: string, rowId: string, key: Uint8Array): string {
  return seal.seal(key, binding(userId, rowId))
}

/** The key of a user who has set none. */
export function generateExportKey(seal: Seal, userId: string): { key: Uint8Array; sealed: string } {
  const key = randomBytes(32)
  return { key, sealed: sealExportKey(seal, userId, userId, key) }
}

/** Null if no key in SECRET_KEY opens it. */
export function openExportKey(seal: Seal, userId: string, rowId: string, sealed: string): Uint8Array | null {
  return seal.open(sealed, binding(userId, rowId))
}

/** The line in the log for a key that does not open. */
export function unopened(rowId: string): string {
  return `the export key of ${rowId} cannot be opened with SECRET_KEY`
}

function binding(userId: string, rowId: string): Binding {
  return { purpose: 'export-key', userId, rowId }
}
