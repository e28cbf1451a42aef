import type { Client } from '../../client/index.ts'

/** Whose vault the page opens, creates or changes. */
export interface VaultOwner {
  client: Client
  userId: string
  /** The person's name; empty if the provider told none. */
  person: string
}
