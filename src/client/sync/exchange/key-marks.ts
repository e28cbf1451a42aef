import { base64ToBytes } from '../../base64/decode.ts'
import type { Keys } from '../../keys.ts'
import { keyOf } from '../../record/open.ts'
import type { Transport } from './transport.ts'

/** Under which key a record is, once keys were rotated: its prefix in base64. Under the first key it says nothing. */
export function markOf(
  keys: Keys,
  { encrypted_data }: { encrypted_data?: string | undefined },
): { key?: string | undefined } {
  return keys.older ? { key: encrypted_data?.slice(0, markLength) } : {}
}

/** The keys that a record with this mark is under. */
export function keysOf(keys: Keys | undefined, mark: string | undefined): Keys | undefined {
  return mark ? keyOf(keys, base64ToBytes(mark) as Uint8Array) : undefined
}

/** Whether the service's keyring has a newer key than this device. Nobody else makes records that users can read. */
export async function missesKeys(keys: Keys, transport: Transport, signal: AbortSignal): Promise<boolean> {
  const { key_id } = JSON.parse(await transport.getKeyring({ signal })) as { key_id?: string }
  // The prefix is a 2 before the id.
  return key_id !== undefined && !keyOf(keys, Uint8Array.of(2, ...(base64ToBytes(key_id) ?? [])))
}

/** Nine bytes: a 2 and the key's id. */
const markLength = 12
