import { hexValue, toDigest } from '../../../protocol/digest.ts'
import { ApiError, OfflineError } from '../../errors.ts'
import { paced } from '../../timing/paced.ts'
import type { Connected } from '../engine.ts'
import { isStored, type Replica, typesIn } from '../store/replica.ts'
import { newestOf } from '../store/row.ts'
import type { Meta } from '../store/store.ts'
import { nextBatch } from './batch.ts'
import { mend, pullAll } from './pull.ts'
import { pushAll } from './push.ts'

/** Milliseconds between comparisons. A few times a day suffice, because stores rarely lose anything. */
const everyMs = 21_600_000
/** The least idle time before a comparison (ms). After an exchange, another one often follows. */
const idleMs = 10_000
/** Attempts per comparison. If other devices keep writing meanwhile, it is postponed. */
const mostTries = 5

type Checked = NonNullable<Meta['digest']>

/** How long the device must be idle until its digest is compared with the service's (ms). */
export function untilCheck({ clock, replica }: Connected): number {
  // `abs`, because it is also due after the clock was set far back.
  const since = Math.abs(clock.now() - (replica.meta.digest?.checkedAt ?? 0))
  return Math.max(idleMs, everyMs - since)
}

/**
 * Compares the service's digest, a checksum of the live records, with this store's if due, and pulls everything again if
 * they differ. A difference that remains is stored as the `gap`, which is expected from then on: services of version 2.0
 * only know a digest of all entity types, even those that this device does not store.
 */
export async function checkDigest(parts: Connected): Promise<void> {
  const { tabs, signal } = parts
  if (signal.aborted || untilCheck(parts) > idleMs) return
  await tabs.exclusively('exchange', () => compare(parts), signal)
}

/** The gap of a store that has the same records as the service. */
const none = toDigest(0n)

async function compare(parts: Connected): Promise<void> {
  const { replica, clock, signal } = parts
  // Another tab may have pulled or pushed changes by now.
  await replica.reload([], 'remote')
  if (!isIdle(parts)) return
  const known: Omit<Checked, 'checkedAt'> = replica.meta.digest ?? { gap: none }
  let mended: string | undefined
  for (let tries = 0; tries < mostTries && isIdle(parts); tries++) {
    const { cursor } = replica.meta
    const digest = await askDigest(parts)
    const serviceSum = hexValue(digest)
    if (serviceSum === undefined) break
    const gap = toDigest(serviceSum - (await sumOf(replica, signal)))
    if (gap === known.gap || gap === none) return remember({ gap })
    // If this pulls a change, the digests were those of different states, and are compared again.
    await pullAll(parts)
    if (replica.meta.cursor !== cursor) continue
    if (mended) return remember({ gap, mended })
    if (digest === known.mended) break
    await mend(parts)
    mended = digest
    await pushAll(parts)
    await pullAll(parts)
  }
  return remember({ ...known, ...(mended && { mended }) })

  async function remember(checked: Omit<Checked, 'checkedAt'>): Promise<void> {
    await replica.commit([], 'remote', (draft) => draft.setMeta({ digest: { ...checked, checkedAt: clock.now() } }))
  }
}

/** False while edits are to be sent or the store is being filled again: it then differs from the service anyway. */
function isIdle(parts: Connected): boolean {
  return !parts.replica.meta.isIncomplete && nextBatch(parts).length === 0
}

/** Returns an empty string if the service or a proxy responds with an error: the sync goes on without the comparison. */
async function askDigest({ transport, replica, signal }: Connected): Promise<string> {
  try {
    return (await transport.getStatus(typesIn(replica.meta).join(), { signal })).digest
  } catch (error) {
    if (error instanceof ApiError || (error instanceof OfflineError && error.status !== undefined)) return ''
    throw error
  }
}

/**
 * Sums the hashes of the versions that the service should have: without pending edits, and without records that it has
 * deleted and the user still sees, because the delete is held for approval.
 */
async function sumOf({ rows, meta }: Replica, signal: AbortSignal): Promise<bigint> {
  let sum = 0n
  const add = (row: Parameters<typeof newestOf>[0]) => {
    const version = isStored(row.id, meta) ? newestOf(row) : null
    if (version?.bookmark) sum += hexValue(version.data_hash ?? '') ?? 0n
  }
  await paced(rows.values(), add, signal)
  return sum
}
