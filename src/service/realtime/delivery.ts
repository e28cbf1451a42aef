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
/** The most messages and bytes sent per turn of the event loop. Either takes a few milliseconds. */
const maxSent = { messages: 2048, bytes: 8 * 1024 * 1024 }

/** Milliseconds between sweeps, which make up for lost notifications and find ended sessions. */
export const sweepEveryMs = 30_000
/** Users per query of a sweep. SQLite takes some milliseconds for it, in which it serves nobody else. */
const usersAtOnce = 1000

export interface DeliveryParts {
  database: Pick<Database, 'db'>
  clock: () => number
}

/** A user's sockets in this process, and how far they have been served. */
export interface Audience {
  connections: Set<Connection>
  following: Following
  /** Increases whenever there may be new changes. */
  news: number
  /** The next page serves sockets with this cursor or a greater one. */
  next: number
  /** The user's last sequence number at the last sweep. */
  swept: number
}

export function createAudience(following: Following): Audience {
  return { connections: new Set(), following, news: 0, next: 0, swept: 0 }
}

/**
 * Sends one page of a user's changes to all sockets that are behind and have their cursor within it. Further calls
 * serve the sockets beyond it and finally start over, so that none waits for another's whole replay. Returns true if
 * any is still behind; a stalled socket continues once it has drained.
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
    // SQLite's queries are synchronous, so without this, everything else would wait for the whole replay.
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

/** True if the socket does not have everything yet: `news` increases with every announced write. */
function isBehind(connection: Connection, news: number): connection is Ready {
  return connection.newsSent < news && connection.open && !connection.stalled && connection.cursor !== undefined
}

/** Greets new sockets. Reads the user's last sequence number first, so that no change after `connected` is skipped. */
async function greet(parts: DeliveryParts, userId: string, connections: ReadonlySet<Connection>): Promise<void> {
  const fresh = [...connections].filter(({ open, cursor }) => open && cursor === undefined)
  if (fresh.length === 0) return
  const { last_sequence, epoch } = await findCounters(parts.database.db, userId)
  for (const connection of await keepAlive(parts, fresh)) {
    const { since = last_sequence } = connection.peer
    connection.greet(continueFrom(since, last_sequence), parts.clock(), epoch)
  }
}

/** Closes the sockets of ended logins. Runs after reading what will be sent, so that they receive none of it. */
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
  /** Sockets with smaller cursors find their next change in the page. */
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
 * Makes a frame.
 *
 * @param previous_stamp a sequence number after which this change is the next; undefined for a mere acknowledgement
 */
export function toMessage(row: ChangeRow, previous_stamp?: number): Buffer {
  const message: ServerMessage = { type: 'sync', event: toSyncEvent(row), stamp: row.sequence }
  return toFrame(JSON.stringify({ ...message, previous_stamp }))
}

/** Sends the page to a socket without waiting for slow clients. Returns true if no change is left for the socket. */
function sendPage(connection: Ready, page: Page): boolean {
  for (const { row, message } of page.changes) {
    if (row.sequence <= connection.cursor) continue
    const { types } = connection.peer
    if (types && !types.includes(row.entity_type)) {
      connection.cursor = row.sequence
      continue
    }
    if (connection.stalled) return false
    connection.sendFrame(types ? toMessage(row, connection.lastSent) : message())
    connection.cursor = row.sequence
    connection.lastSent = row.sequence
  }
  return !page.more
}

/** The regular sweep is spread over time; after lost notifications, it runs at once. */
export type Pace = 'spaced' | 'at once'

/** Closes sockets of ended logins, and announces users whose sockets miss changes: two queries per thousand users. */
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

/** The user's last number may belong to a change that left no record, so a sweep announces each number only once. */
function hasMissed(audience: Audience | undefined, last: number): boolean {
  if (!audience || audience.swept === last) return false
  audience.swept = last
  return [...audience.connections].some(({ open, cursor = last }) => open && cursor < last)
}
