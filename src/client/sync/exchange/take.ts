import { RollbackError, SignedOutError } from '../../errors.ts'
import type { Draft } from '../store/draft.ts'
import type { Meta, Version } from '../store/store.ts'
import { mergeUnreadable, mergeVersion } from './merge.ts'
import { type OpenedEvent, type OpenParts, openEvents } from './open-events.ts'
import type { SyncEvent } from './transport.ts'

export interface TakeParts extends OpenParts {
  userId: string
  deviceId: string
}

/** An event with its sequence number. */
export interface StampedEvent {
  event: SyncEvent
  stamp: number
}

/**
 * Applies a page of a pull since the cursor `since`, together with its cursor. `doubt`: the store was emptied meanwhile,
 * so everything must be pulled again.
 */
export async function takePage(
  parts: TakeParts,
  events: readonly SyncEvent[],
  since: number,
  meta: Partial<Meta> & { cursor: number },
  signal: AbortSignal,
): Promise<'taken' | 'doubt'> {
  const opened = await openEvents(parts, checked(parts, events), signal)
  const ids = opened.map(({ event }) => event.entity_id)
  return parts.replica.commit(ids, 'remote', (draft) => {
    const base = draft.meta.cursor
    if (base < since) return 'doubt'
    for (const one of opened) {
      const older = takeEvent(parts, draft, one, base)
      if (older) reportRollback(draft, one, older)
    }
    draft.setMeta(meta)
    return 'taken'
  })
}

/**
 * Applies messages of the realtime channel that continue from the cursor `since`, as long as their order is clear;
 * `doubt` means that the rest must be pulled. A message sent before one of our changes was accepted can arrive after the
 * acceptance, and then looks like a rollback.
 */
export async function takeMessages(
  parts: TakeParts,
  messages: readonly StampedEvent[],
  since: number,
  signal: AbortSignal,
): Promise<'taken' | 'doubt'> {
  const events = checked(
    parts,
    messages.map(({ event }) => event),
  )
  const opened = new Map((await openEvents(parts, events, signal)).map((one) => [one.event, one]))
  const ids = [...new Set(messages.map(({ event }) => event.entity_id))]
  return parts.replica.commit(ids, 'remote', (draft) => {
    if (draft.meta.cursor < since) return 'doubt'
    for (const { event, stamp } of messages) {
      const one = opened.get(event)
      // Received twice, or already pulled.
      if (stamp <= draft.meta.cursor) continue
      const older = one && takeEvent(parts, draft, one, draft.meta.cursor)
      if (older && !older.confirmed) return 'doubt'
      if (older) reportRollback(draft, one, older)
      draft.setMeta({ cursor: stamp })
    }
    return 'taken'
  })
}

/** Entities of other kinds belong to other clients. */
function checked({ userId }: TakeParts, events: readonly SyncEvent[]): SyncEvent[] {
  const foreign = events.find((event) => event.user_id !== userId)
  if (foreign) throw new SignedOutError('Another user is signed in')
  return events.filter(({ entity_type }) => entity_type === 'bookmark')
}

/** Returns the known version if the event is older. */
function takeEvent(
  { deviceId }: TakeParts,
  draft: Draft,
  { event, version, fault }: OpenedEvent,
  base: number,
): Version | undefined {
  const row = draft.get(event.entity_id)
  const overwrites = (mine: Version) => namesOverwritten(event, mine)
  const merged = mergeVersion(row, version, { deviceId, base, overwrites })
  if (merged.kind === 'older') return merged.than
  if (merged.kind === 'known') return undefined
  if (fault) {
    if (row.unreadable?.event_id === event.id) return undefined
    draft.set(mergeUnreadable(row, version, base))
    draft.errors.push({ error: fault, id: row.id })
    return undefined
  }
  draft.set(merged.row)
  if (merged.lost) draft.conflicts.push({ id: row.id, mine: merged.lost.mine, theirs: version.bookmark })
  return undefined
}

function reportRollback(draft: Draft, { event, version }: OpenedEvent, known: Version): void {
  const error = new RollbackError(event.entity_id, known.timestamp, version.timestamp)
  draft.errors.push({ error, id: event.entity_id })
}

/** Whether the event, or one before it, replaced this version by a device that had not seen it. */
function namesOverwritten({ overwritten = [] }: SyncEvent, { device_id, timestamp }: Version): boolean {
  return overwritten.some((one) => one.device_id === device_id && one.timestamp === timestamp)
}
