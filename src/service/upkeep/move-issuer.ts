import type { Database, Db, Trx } from '../db/engine/database.ts'
import { beginDeletion } from '../db/tables/deletions.ts'
import {
  type Account,
  awaitedAddress,
  awaitedSubject,
  findAccount,
  findUserOf,
  listMovable,
  type MovableUser,
  moveUser,
  subjectsByAddress,
} from '../db/tables/identities.ts'
import { lockUser } from '../db/tables/users.ts'

/** Users per transaction. Each takes about ten short statements, and others' writes wait meanwhile. */
const movedAtOnce = 25
const readAtOnce = 500

export interface Move {
  from: string
  to: string
  /** The users' new subjects or addresses. If it is missing, subjects stay the same. */
  map?: UserMap | undefined
}

/** Maps users, by their subject or verified address, to their new subject or verified address. */
export interface UserMap {
  key: 'subject' | 'email'
  value: 'subject' | 'email'
  values: ReadonlyMap<string, string>
}

/** The outcome for a user. `target` is the new subject or a placeholder (`awaitedSubject`). */
export type Outcome =
  | { does: 'moves'; target: string }
  /** The person's account at the new provider is empty, and is deleted. */
  | { does: 'replaces'; target: string; other: string }
  /** This account is empty and is deleted, because the person has another one. */
  | { does: 'ends'; other: string }
  /** The map does not contain the user. */
  | { does: 'stays' }
  /** Already moved, perhaps to a placeholder that the user's next sign-in replaces. */
  | { does: 'nothing' }
  | { does: 'clashes'; why: string }

export type Moved = Outcome & { user: MovableUser }

/** The outcomes that `moveUsers` would have. Writes nothing. */
export async function* planMove(db: Db, move: Move): AsyncGenerator<Moved> {
  const known = await knownAddresses(db, move)
  const taken = new Map<string, string>()
  for await (const page of listMovable(db, move.from, move.to, readAtOnce)) {
    for (const user of page) {
      const outcome = await judge(db, move, user, known)
      const before = 'target' in outcome ? taken.get(outcome.target) : undefined
      if ('target' in outcome) taken.set(outcome.target, user.id)
      if (before === undefined) yield { ...outcome, user }
      else yield { does: 'clashes', why: `${before} would become the same person`, user }
    }
  }
}

/**
 * Moves users to another issuer, some at a time, while the service runs. After an interruption, another call continues.
 * A user who clashes because something has changed since the plan stays.
 */
export async function* moveUsers({ db, write }: Pick<Database, 'db' | 'write'>, move: Move): AsyncGenerator<Moved> {
  const known = await knownAddresses(db, move)
  for await (const page of listMovable(db, move.from, move.to, movedAtOnce)) {
    yield* await write(async (trx) => {
      const moved: Moved[] = []
      for (const user of page) moved.push({ ...(await moveOne(trx, move, user, known)), user })
      return moved
    })
  }
}

type KnownAddresses = ReadonlyMap<string, string[]>

async function knownAddresses(db: Db, { to, map }: Move): Promise<KnownAddresses> {
  return map?.value === 'email' ? subjectsByAddress(db, to) : new Map()
}

async function moveOne(trx: Trx, move: Move, user: MovableUser, known: KnownAddresses): Promise<Outcome> {
  const outcome = await judge(trx, move, user, known)
  const now = Date.now()
  const deleted = outcome.does === 'replaces' ? outcome.other : outcome.does === 'ends' ? user.id : undefined
  if (deleted !== undefined) {
    // Blocks the account's writes from here on.
    await lockUser(trx, deleted)
    if (((await findAccount(trx, deleted))?.stored ?? 0) > 0)
      return { does: 'clashes', why: `${deleted} has just stored something` }
    await beginDeletion(trx, deleted, now)
  }
  if (!('target' in outcome)) return outcome
  const isMoved = await moveUser(trx, user, move.from, { issuer: move.to, subject: outcome.target }, now)
  if (isMoved) return outcome
  // Another call may have moved the user.
  const holder = await findUserOf(trx, { issuer: move.to, subject: outcome.target })
  return holder === user.id ? { does: 'nothing' } : { does: 'clashes', why: 'it has changed meanwhile' }
}

async function judge(db: Db, { from, to, map }: Move, user: MovableUser, known: KnownAddresses): Promise<Outcome> {
  const isAwaited = user.issuer === to && awaitedAddress(user.subject) !== undefined
  const target = targetOf(map, user, isAwaited, known)
  if (typeof target !== 'string') return target
  if (isAwaited && target === user.subject) return { does: 'nothing' }
  const holder = await findUserOf(db, { issuer: to, subject: target })
  const other = holder === undefined || holder === user.id ? undefined : await findAccount(db, holder)
  if (!other) return { does: 'moves', target }
  if (user.disabled_at !== null || other.disabled_at !== null)
    return { does: 'clashes', why: `${labelOf(other)} is the same person at ${to}, and one of the two is disabled` }
  if (other.stored === 0) return { does: 'replaces', target, other: other.id }
  if (user.stored === 0) return { does: 'ends', other: other.id }
  return { does: 'clashes', why: `${labelOf(other)} is the same person at ${to}, and both have bookmarks (${from})` }
}

function targetOf(
  map: UserMap | undefined,
  user: MovableUser,
  isAwaited: boolean,
  known: KnownAddresses,
): string | Outcome {
  if (!map) return isAwaited ? { does: 'nothing' } : user.subject
  const value = map.values.get(keyOf(map, user) ?? '')
  if (value === undefined) return { does: isAwaited ? 'nothing' : 'stays' }
  if (map.value === 'subject') return value
  const [subject, ...more] = known.get(value) ?? []
  if (more.length > 0) return { does: 'clashes', why: `${more.length + 1} users have the verified address ${value}` }
  return subject ?? awaitedSubject(value)
}

/** The user's key in the map; undefined if it is the address, and that is not verified. */
export function keyOf({ key }: Pick<UserMap, 'key'>, user: MovableUser): string | undefined {
  if (key === 'subject') return user.subject
  return user.email_verified === 1 ? user.email.toLowerCase() : undefined
}

export function labelOf({ id, email }: Pick<Account, 'id' | 'email'>): string {
  // In quotes, because the provider may have sent any text.
  return `${id}  ${JSON.stringify(email)}`
}
