import { randomBytes } from 'node:crypto'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import type { RecordRow } from '../../src/service/db/tables/records.ts'
import { sealRecord, subKeys } from '../client/second-implementation.ts'
import { bookmark } from './fixture.ts'

const masterKey = new Uint8Array(32).fill(7)
/** A text that nearly fills a record. */
const text = 'x'.repeat(196_200)

export const keys = deriveKeys(masterKey)
export const recordBytes = 262_144

export function titleOf(index: number): string {
  return `${index} ${text}`
}

/** Bookmarks of nearly the maximum size, encrypted as by a client. */
export function sealedBookmarks(userId: string, first: number, length: number): RecordRow[] {
  return Array.from({ length }, (_, place) => {
    const row = bookmark(userId, first + place)
    const json = JSON.stringify({ id: row.entity_id, source: 'bookmarks', title: titleOf(first + place) })
    return { ...row, ...sealRecord(subKeys(masterKey), row.entity_type, row.entity_id, json, randomBytes(24)) }
  })
}
