import { readFile } from 'node:fs/promises'
import type { CommandDatabase } from '../db/for-command.ts'
import { awaitedAddress } from '../db/tables/identities.ts'
import { countUsersOf } from '../operating/issuer.ts'
import { isSameIssuer, moveCall } from '../provider/issuer.ts'
import { withProgress } from '../terminal/progress.ts'
import { keyOf, labelOf, type Move, type Moved, moveUsers, planMove, type UserMap } from '../upkeep/move-issuer.ts'

interface Wanted {
  from: string
  to: string
  /** The path of a CSV file. */
  map?: string | undefined
  dryRun?: true | undefined
}

type Counts = Record<Moved['does'], number>

/**
 * Moves the users of an issuer to another one. Changes nothing if the plan shows that one clashes with another user.
 *
 * @param configured OIDC_ISSUER
 */
export async function moveIssuer(database: CommandDatabase, wanted: Wanted, configured: string): Promise<void> {
  const { from, to, dryRun } = wanted
  const map = wanted.map === undefined ? undefined : await readMap(wanted.map)
  const move: Move = { from, to, map }
  const planned = await plan(database, move, { isShown: dryRun === true, lines: map?.lines })
  if (planned.moves + planned.replaces + planned.ends === 0 && planned.clashes === 0)
    return nothingToDo(database, wanted, planned)
  if (planned.clashes > 0)
    throw new Error(
      `${countOf(planned.clashes)} cannot be moved: nothing was changed. Leave them out by a file (--map), or delete one account of each`,
    )
  if (dryRun) return void console.log(`would ${summary(planned, wanted, ['move', 'delete'])}; nothing was changed`)
  const done = await apply(database, move)
  console.log(summary(done, wanted, ['moved', 'deleted']))
  if (!isSameIssuer(configured, to)) console.log(`OIDC_ISSUER is ${configured}: set it to ${to}, and restart`)
  if (done.clashes > 0) throw new Error(`${countOf(done.clashes)} could not be moved: run this again`)
}

/** Prints the users that clash. With `isShown`, also the other outcomes, and the lines of the map that match nobody. */
async function plan(
  { db }: CommandDatabase,
  move: Move,
  { isShown, lines }: { isShown: boolean; lines: Map<string, number> | undefined },
): Promise<Counts> {
  const counts = noCounts()
  const unused = new Map(lines)
  await withProgress(async (progress) => {
    let seen = 0
    for await (const moved of planMove(db, move)) {
      counts[moved.does] += 1
      seen += 1
      progress.report('looking at users', seen)
      if (move.map) unused.delete(keyOf(move.map, moved.user) ?? '')
      if (moved.does === 'clashes' || (isShown && moved.does !== 'nothing')) progress.print(lineOf(moved, move))
    }
  })
  if (isShown)
    for (const [key, line] of unused) console.log(`line ${line}  no user of ${move.from} has ${JSON.stringify(key)}`)
  return counts
}

async function apply(database: CommandDatabase, move: Move): Promise<Counts> {
  const counts = noCounts()
  await withProgress(async (progress) => {
    for await (const moved of moveUsers(database, move)) {
      counts[moved.does] += 1
      progress.report('moving users', counts.moves + counts.replaces)
      if (!['moves', 'nothing'].includes(moved.does)) progress.print(lineOf(moved, move))
    }
  })
  return counts
}

function noCounts(): Counts {
  return { moves: 0, replaces: 0, ends: 0, stays: 0, nothing: 0, clashes: 0 }
}

function lineOf(moved: Moved, { to }: Move): string {
  const name = labelOf(moved.user)
  if (moved.does === 'moves') return `${name}  ${targetText(moved.target)}`
  if (moved.does === 'replaces')
    return `${name}  ${targetText(moved.target)}, in place of ${moved.other}, which is empty and deleted`
  if (moved.does === 'ends') return `${name}  is empty and deleted: the same person is ${moved.other} at ${to}`
  if (moved.does === 'clashes') return `${name}  cannot be moved: ${moved.why}`
  return `${name}  stays: the file does not name it`
}

function targetText(target: string): string {
  const address = awaitedAddress(target)
  if (address === undefined) return `becomes the subject ${JSON.stringify(target)}`
  return `is the account of the first to sign in with the verified address ${JSON.stringify(address)}`
}

function summary(counts: Counts, { from, to }: Wanted, [move, remove]: [move: string, remove: string]): string {
  const empty = counts.replaces + counts.ends
  const parts = [
    `${move} ${countOf(counts.moves + counts.replaces)} from ${from} to ${to}`,
    empty > 0 && `${remove} ${empty} empty ${empty === 1 ? 'account' : 'accounts'}`,
    counts.stays > 0 && `${countOf(counts.stays)} of ${from} ${counts.stays === 1 ? 'stays' : 'stay'}`,
  ]
  return parts.filter(Boolean).join('; ')
}

async function nothingToDo(
  { db }: CommandDatabase,
  { from, to }: Wanted,
  { stays, nothing: waiting }: Counts,
): Promise<void> {
  const { own, others } = await countUsersOf(db, to)
  const counts = [{ issuer: to, users: own }, ...others].filter(({ users }) => users > 0)
  const list = counts.map(({ issuer, users }) => `${users} of ${issuer}`).join(', ') || 'there are none at all'
  const why = stays > 0 ? `the file names none of the ${countOf(stays)} of ${from}` : `no users of ${from}`
  const awaited =
    waiting > 0 ? `; ${countOf(waiting)} of ${to} ${waiting === 1 ? 'has' : 'have'} not signed in there yet` : ''
  console.log(`nothing to do: ${why} (users: ${list})${awaited}`)
  const [other] = others
  // Neither issuer has users, so `from` may be misspelt.
  if (own === 0 && stays === 0 && other) throw new Error(`did you mean ${moveCall(other.issuer, to)}?`)
}

function countOf(users: number): string {
  return `${users} ${users === 1 ? 'user' : 'users'}`
}

/**
 * Reads a CSV file with a header of `old_subject` or `old_email`, and `new_subject` or `new_email`. Also returns each
 * user's line number, to report lines that match nobody.
 */
export async function readMap(path: string): Promise<UserMap & { lines: Map<string, number> }> {
  const text = await readFile(path, 'utf8')
  const rows = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const [, key, value] =
    /^"?old_(subject|email)"?,"?new_(subject|email)"?$/.exec((rows[0] ?? '').replaceAll(' ', '')) ?? []
  if (!isForm(key) || !isForm(value))
    throw new Error(`${path}: line 1 must be old_subject or old_email, a comma, and new_subject or new_email`)
  const values = new Map<string, string>()
  const [lines, targets] = [new Map<string, number>(), new Map<string, number>()]
  for (const [index, row] of rows.entries()) {
    if (index === 0 || row.trim() === '') continue
    const line = index + 1
    const [, first, second] = /^("(?:[^"]|"")*"|[^",]*),("(?:[^"]|"")*"|[^",]*)$/.exec(row) ?? []
    const [before, after] = [fieldOf(first, key), fieldOf(second, value)]
    if (before === undefined || after === undefined)
      throw new Error(`${path}: line ${line} must have ${formText(key)}, a comma, and ${formText(value)}`)
    for (const [places, field] of [
      [lines, before],
      [targets, after],
    ] as const) {
      const earlier = places.get(field)
      if (earlier !== undefined)
        throw new Error(`${path}: lines ${earlier} and ${line} both have ${JSON.stringify(field)}`)
      places.set(field, line)
    }
    values.set(before, after)
  }
  return { key, value, values, lines }
}

type Form = UserMap['key']

function isForm(text: string | undefined): text is Form {
  return text === 'subject' || text === 'email'
}

function formText(form: Form): string {
  return form === 'email' ? 'an e-mail address' : 'a subject of at most 255 printable ASCII characters'
}

/** Undefined if the text does not have this form. */
function fieldOf(text: string | undefined, form: Form): string | undefined {
  if (text === undefined) return undefined
  const quoted = text.trim()
  const field = quoted.startsWith('"') ? quoted.slice(1, -1).replaceAll('""', '"') : quoted
  if (form === 'email') return /^[^\s@]+@[^\s@]+$/.test(field) ? field.toLowerCase() : undefined
  return /^[\x20-\x7e]{1,255}$/.test(field) ? field : undefined
}
