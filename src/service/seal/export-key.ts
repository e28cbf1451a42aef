import type { Binding, Seal } from './seal.ts'

/** Seals an export key for its row: the user's key for the user, a file's key for its export. */
export function sealExportKey(seal: Seal, userId: string, rowId: string, key: Uint8Array): string {
  return seal.seal(key, binding(userId, rowId))
}

export function openExportKey(seal: Seal, userId: string, rowId: string, sealed: string): Uint8Array {
  const key = seal.open(sealed, binding(userId, rowId))
  if (!key) throw new Error(`the export key of ${rowId} cannot be opened with SECRET_KEY`)
  return key
}

function binding(userId: string, rowId: string): Binding {
  return { purpose: 'export-key', userId, rowId }
}
