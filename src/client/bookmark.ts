import type { components } from '../../generated/openapi.ts'

/**
 * A bookmark in plaintext: the fields that the contract documents. Other clients may store more fields. This
 * type does not list them, but `update` and `move` keep them, and so does a `put` of a copy with changes.
 */
export type PlaintextBookmark = {
  // Leaves out the contract's index signature, with which a misspelt name would compile.
  [Name in keyof components['schemas']['PlaintextBookmark'] as string extends Name
    ? never
    : number extends Name
      ? never
      : Name]: components['schemas']['PlaintextBookmark'][Name]
}

/** The kind of a record. It is bound into the ciphertext, so a history entry cannot be passed off as a bookmark. */
export type EntityType = components['schemas']['EntityType']

/** A decrypted export: the JSON that the contract documents. A saved backup may also have other types of records. */
export interface OpenedExport extends Omit<components['schemas']['OpenedExport'], 'bookmarks'> {
  /** The bookmarks in plaintext. */
  bookmarks: PlaintextBookmark[]
  /** Tab groups and their tabs. */
  groups?: PlaintextBookmark[]
  /** History entries, if the person wanted them in the backup. */
  history?: PlaintextBookmark[]
}

/** An export without its records. */
export type ExportSummary = Omit<OpenedExport, 'bookmarks' | 'groups' | 'history'>
