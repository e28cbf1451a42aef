import { claimedKeyId } from '../../../protocol/key-id.ts'
import { base64ToBytes, bytesToBase64 } from '../../crypto/base64.ts'
import { type Keys, keyOf, lacksKey } from '../../crypto/keys.ts'
import { RecordError } from '../../errors.ts'
import type { Connected } from '../engine.ts'
import type { Replica } from '../store/replica.ts'
import type { Meta } from '../store/store.ts'

/** The mark (`keyNamedBy`) to store with a record. None before the first rotation, when there is only one key. */
export function keyMarkOf(
  keys: Keys,
  { encrypted_data }: { encrypted_data?: string | undefined },
): { key?: string | undefined } {
  return keys.older ? { key: keyNamedBy({ encrypted_data }) } : {}
}

/** The first nine bytes of `encrypted_data` in base64: a 2 and its key's id, or a 1 (the vault's first key) and other bytes. */
export function keyNamedBy({ encrypted_data }: { encrypted_data?: string | undefined }): string | undefined {
  return encrypted_data?.slice(0, markLength)
}

/** The keys that open a record with this mark; undefined if this device lacks them, or without a mark. */
export function keysOf(keys: Keys | undefined, mark: string | undefined): Keys | undefined {
  return mark ? keyOf(keys, base64ToBytes(mark) as Uint8Array) : undefined
}

/** True if the service's keyring has a newer key than this device. */
export async function lacksNewestKey({ keys, transport, signal }: Connected): Promise<boolean> {
  return lacksKey(keys, claimedKeyId(await transport.getKeyring({ signal })))
}

/**
 * Makes these keys the current ones, and remembers the replaced ones, which are refused from then on, even if the
 * service sends an older keyring, because a lost device may have them.
 *
 * @throws RecordError `unknown-key`: `keys` were replaced before, and nothing was changed
 */
export async function takeKeys(replica: Replica, keys: Keys, current = keys): Promise<void> {
  const [key = '', ...older] = marksOf(keys)
  const { meta } = replica
  if (current === keys && (meta.replaced ? key === meta.key : !keys.older && !meta.key)) return
  await replica.commit([], 'remote', (draft) => {
    // Earlier releases did not store `replaced`. Keys that do not include the last stored one are older than it.
    const { key: last = key, replaced = [key, ...older].includes(last) ? [] : [key] } = draft.meta
    requireNewest({ replaced: [...replaced, ...marksOf(current.older)] }, keys)
    const marks = new Set([...replaced, ...older, ...marksOf(current), last])
    marks.delete(key)
    if (marks.size > 0) draft.setMeta({ key, replaced: [...marks] })
    Object.assign(current, keys)
  })
}

/** @throws RecordError `unknown-key` */
export function requireNewest({ replaced }: Pick<Meta, 'replaced'>, { prefix }: Keys): void {
  if (replaced?.includes(bytesToBase64(prefix))) throw new RecordError('unknown-key', 'These keys were replaced')
}

function marksOf(keys: Keys | undefined): string[] {
  return keys ? [bytesToBase64(keys.prefix), ...marksOf(keys.older)] : []
}

/** The characters of nine bytes in base64: the byte 2 and the key's id (8 bytes). */
const markLength = 12
