import type { components } from '../../generated/openapi.ts'

/** A bookmark in the clear. Fields beyond the documented ones are allowed and survive every edit. */
export type PlaintextBookmark = components['schemas']['PlaintextBookmark']
