import type { components } from '../../generated/openapi.ts'

/** A bookmark in plaintext. Fields beyond the documented ones are allowed and survive every edit. */
export type PlaintextBookmark = components['schemas']['PlaintextBookmark']

/** The kind of a record. It is bound into the ciphertext, so a history entry cannot be passed off as a bookmark. */
export type EntityType = components['schemas']['EntityType']

/** An opened export: the JSON that the contract documents. */
export type OpenedExport = components['schemas']['OpenedExport']

/** What an export contains besides its bookmarks. */
export type ExportSummary = Omit<OpenedExport, 'bookmarks'>
