import type { Client } from '../api/client.ts'
import { unwrap } from '../api/unwrap.ts'

/** Whether the signed-in user has created a vault on any device. */
export async function hasVault(client: Client): Promise<boolean> {
  const result = await client.GET('/api/v1/account/keyring')
  if (result.response.status === 404) return false
  unwrap(result)
  return true
}
