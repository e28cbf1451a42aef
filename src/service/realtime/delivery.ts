import { setImmediate as eventLoopTurn, setTimeout as sleep } from 'node:timers/promises'
import { closeCodes } from '../../../generated/channel.ts'
import type { ServerMessage } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import { type ChangeRow, listChangePage } from '../db/tables/changes.ts'
import { findAliveLogins } from '../db/tables/logins.ts'
import { findCounters, findLastSequences } from '../db/tables/users.ts'
import type { Following } from '../notices/notices.ts'
import { toSyncEvent } from '../sync/event.ts'
import { continueFrom } from '../sync/numbers.ts'
import { type Connection, toFrame } from './connection.ts'

const pageLimits = { rows: 256, bytes: 1024 * 1024 }
/** The messages, or bytes, that are sent between two turns of the event loop: either takes a few milliseconds. */
const maxSent = { messages: 2048, bytes: 8 * 1024 * 1024 }

/** A sweep makes up for lost notices, and finds sessions that have ended. */
export const sweepEveryMs = 30_000
/** Users of a query of a sweep: SQLite answers it in some milliseconds, in which it serves nobody else. */
const usersAtOnce = 1000

export interface DeliveryParts {
  database: Pick<Database, 'db'>
  clock: () => number
}

/** A user's sockets, and what they must be told. */
export interface Audience {
  connections: Set<Connection>
  following: Following
  /** Grows whenever there may be new changes. */
  news: number
  /** The cursor at which the next page begins its search for a socket that is behind. */
  next: number
  /** The user's last sequence number at the last sweep. */
  swept: number
}

export function createAudience(following: Following): Audience {
  return { connections: new Set(), following, news: 0, next: 0, swept: 0 }
}

/**
 * Sends one page of a user's changes to all sockets that are behind and whose cursors lie within it. The following call
 * serves the sockets beyond it, and in the end begins again, so that none waits for another's whole replay. Returns
 * true if any is still behind; a stalled socket continues once it has drained.
 */
export async function deliver(parts: DeliveryParts, userId: string, audience: Audience): Promise<boolean> {
  await greet(parts, userId, audience.connections)
  const { news, next } = audience
  const behind = listBehind(audience)
  const first = behind.find(({ cursor }) => cursor >= next) ?? behind[0]
  if (!first) return false
  const page = await readPage(parts, userId, first.cursor)
  audience.next = page.end
  const served = behind.filter(({ cursor }) => cursor >= first.cursor && cursor < page.end)
  const atOnce = Math.ceil(
    Math.min(maxSent.messages / Math.max(1, page.changes.length), maxSent.bytes / Math.max(1, page.bytes)),
  )
  for (let start = 0; start < served.length; start += atOnce) {
    const alive = await keepAlive(parts, served.slice(start, start + atOnce))
    for (const connection of alive) if (sendPage(connection, page)) connection.newsSent = news
    // SQLite's queries need no turn of the event loop, so without this everything else would wait for the whole replay.
    await eventLoopTurn()
  }
  return [...audience.connections].some((connection) => isBehind(connection, audience.news))
}

/** Sorted by cursor. */
function listBehind({ connections, news }: Audience): Ready[] {
  return [...connections]
    .filter((connection) => isBehind(connection, news))
    .sort((one, other) => one.cursor - other.cursor)
}

type Ready = Connection & { cursor: number }

/** All that was written since a socket was last sent everything is announced, so `news` tells who is behind. */
function isBehind(connection: Connection, news: number): connection is Ready {
  return connection.newsSent < news && connection.open && !connection.stalled && connection.cursor !== undefined
}

/** Reads the user's last sequence number before the greeting, so that no change after `connected` is skipped. */
async function greet(parts: DeliveryParts, userId: string, connections: ReadonlySet<Connection>): Promise<void> {
  const fresh = [...connections].filter(({ open, cursor }) => open && cursor === undefined)
  if (fresh.length === 0) return
  const { last_sequence, epoch } = await findCounters(parts.database.db, userId)
  for (const connection of await keepAlive(parts, fresh)) {
    const { since = last_sequence } = connection.peer
    connection.greet(continueFrom(since, last_sequence), parts.clock(), epoch)
  }
}

/** Checks the logins after reading what will be sent, so that a login that has just ended receives none of it. */
async function keepAlive<T extends Connection>({ database, clock }: DeliveryParts, connections: T[]): Promise<T[]> {
  const logins = connections.map(({ peer }) => peer)
  const alive = await findAliveLogins(database.db, logins, clock())
  return connections.filter((connection) => {
    if (!alive.has(connection.peer.loginId)) connection.close(closeCodes.signedOut)
    return connection.open
  })
}

interface Page {
  changes: { row: ChangeRow; message(): Buffer }[]
  /** Sockets whose cursors are below this find all their next changes in the page. */
  end: number
  bytes: number
  more: boolean
}

async function readPage({ database }: DeliveryParts, userId: string, cursor: number): Promise<Page> {
  const rows = await listChangePage(database.db, userId, cursor, pageLimits)
  const bytes = rows.reduce((sum, { encrypted_data }) => sum + (encrypted_data?.length ?? 0), 0)
  const more = rows.length >= pageLimits.rows || bytes >= pageLimits.bytes
  const changes = rows.map((row, index) => {
    let message: Buffer | undefined
    const previous = rows[index - 1]?.sequence ?? cursor
    return { row, message: () => (message ??= toMessage(row, previous)) }
  })
  return { changes, end: more ? (rows.at(-1)?.sequence ?? cursor) : Number.POSITIVE_INFINITY, bytes, more }
}

/**
 * As a frame.
 *
 * @param previous_stamp below the row's, without a change between the two; undefined if the socket is past them
 */
export function toMessage(row: ChangeRow, previous_stamp?: number): Buffer {
  const message: ServerMessage = { type: 'sync', event: toSyncEvent(row), stamp: row.sequence }
  return toFrame(JSON.stringify({ ...message, previous_stamp }))
}

/** Never waits, so that one slow socket does not delay the others. Returns true if the socket was sent everything. */
function sendPage(connection: Ready, page: Page): boolean {
  for (const { row, message } of page.changes) {
    if (row.sequence <= connection.cursor) continue
    const { types } = connection.peer
    if (types && !types.includes(row.entity_type)) {
      connection.cursor = row.sequence
      continue
    }
    if (connection.stalled) return false
    connection.sendFrame(types ? toMessage(row, connection.told) : message())
    connection.cursor = row.sequence
    connection.told = row.sequence
  }
  return !page.more
}

/** The regular sweep takes its time; after notices were lost, it does not. */
export type Pace = 'spaced' | 'at once'

/**
 * Finds the users who have changes that a socket of theirs was not sent, without reading any, so that the sockets of
 * users who have none cost two queries for a thousand of them.
 */
export async function sweep(
  parts: DeliveryParts,
  users: ReadonlyMap<string, Audience>,
  { pace, stop, announce }: { pace: Pace; stop: AbortSignal; announce: (userId: string) => void },
): Promise<void> {
  const userIds = [...users.keys()]
  const pauseMs = pace === 'spaced' ? sweepEveryMs / Math.ceil(userIds.length / usersAtOnce) : 0
  for (let start = 0; start < userIds.length; start += usersAtOnce) {
    if (start > 0) await sleep(pauseMs, undefined, { signal: stop }).catch(() => {})
    if (stop.aborted) return
    const batch = userIds.slice(start, start + usersAtOnce)
    const lastNumbers = await findLastSequences(parts.database.db, batch)
    const audiences = batch.flatMap((userId) => users.get(userId) ?? [])
    await keepAlive(
      parts,
      audiences.flatMap(({ connections }) => [...connections]),
    )
    for (const [userId, last] of lastNumbers) if (hasMissed(users.get(userId), last)) announce(userId)
  }
}

/** A number may have been given to a change that left no record, so each is looked for once. */
function hasMissed(audience: Audience | undefined, last: number): boolean {
  if (!audience || audience.swept === last) return false
  audience.swept = last
  return [...audience.connections].some(({ open, cursor = last }) => open && cursor < last)
}
