import type { BenchRecord } from '../records.ts'

/** A user of one of the servers. */
export interface Account {
  api: 'service' | 'pocketbase' | 'pouchdb'
  origin: string
  user: string
  headers: Record<string, string>
}

export interface Request {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  headers: Record<string, string>
  body: string | null
}

/** The same work in a server's own words. */
export interface Api {
  push(account: Account, records: BenchRecord[]): Request
  /** `pushed` is the response to the push of the same records. */
  update(account: Account, records: BenchRecord[], pushed: string): Request
  create(account: Account, record: BenchRecord): Request
  /** The page with this number, counted from 1. `before` is the end of the page before, or empty. */
  pull(account: Account, page: number, before: string): Request
  /** What is newer than everything. `last` is the end of the last page. */
  pullNothing(account: Account, last: string): Request
  /** Calls `onMessage` with every message about a change, from now on. */
  listen(account: Account, device: string, onMessage: (text: string) => void): Promise<Listener>
}

export interface Listener {
  close(): void
}

export const pageLength = 1_000

export function json(account: Account, path: string, body: object): Request {
  const headers = { ...account.headers, 'content-type': 'application/json' }
  return { method: 'POST', path, headers, body: JSON.stringify(body) }
}

export function get(account: Account, path: string): Request {
  return { method: 'GET', path, headers: account.headers, body: null }
}
