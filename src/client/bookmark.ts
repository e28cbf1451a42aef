import type { components } from '../../generated/openapi.ts'

/** A bookmark in the clear. Fields beyond the documented ones are allowed and survive every edit. */
export type PlaintextBookmark = components['schemas']['PlaintextBookmark']

/** The kind of a record. It is bound into the ciphertext: a history entry cannot be served as a bookmark. */
export type EntityType = components['schemas']['EntityType']

/** An opened export: the JSON that the interface documents. */
export type OpenedExport = components['schemas']['OpenedExport']

/** What an export says beside its bookmarks. */
export type ExportSummary = Omit<OpenedExport, 'bookmarks'>
