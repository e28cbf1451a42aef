import { randomBytes } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'

export const ciphertextLength = 560

/** The content that every server stores for a bookmark. */
export interface BenchRecord {
  id: string
  encrypted_data: string
  data_hash: string
  timestamp: number
}

export function newRecords(count: number): BenchRecord[] {
  return Array.from({ length: count }, () => newContent(uuidv7()))
}

/** The same records with other content and a later timestamp. */
export function edited(records: BenchRecord[]): BenchRecord[] {
  return records.map(({ id, timestamp }) => ({ ...newContent(id), timestamp: timestamp + 1 }))
}

export function newContent(id: string): BenchRecord {
  const encrypted_data = randomBytes((ciphertextLength / 4) * 3).toString('base64')
  return { id, encrypted_data, data_hash: randomBytes(32).toString('hex'), timestamp: Date.now() }
}
