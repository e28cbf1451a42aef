import { randomBytes } from 'node:crypto'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { findLoginsOf } from '../../src/service/auth/sessions.ts'
import { signIn } from '../../src/service/auth/sign-in.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { type Context, openContext } from '../../src/service/context.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { Session } from '../../src/service/db/tables/tokens.ts'
import { push } from '../../src/service/sync/push.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { createDatabase, openData } from '../data.ts'
import type { Person } from './accounts.ts'
import { atLimits, type FilledAccount, fillAccount } from './accounts.ts'
import type { Attack, Kind } from './attack.ts'

const batchBytes = 16 * 1024 * 1024
const provider = { OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'bench', OIDC_CLIENT_SECRET: 'bench' }

/** Opens the parts of the service, such as its database, in this process, without a server. */
export function openSeed(folder: string, database: Record<string, string>): Promise<Context> {
  const config = readConfig({ ...provider, ...database, DATA_DIR: join(folder, 'data') })
  return openContext(config, { log: pino({ level: 'silent' }) })
}

/** Signs in the victim, the attacker and accomplices, and stores what the attack needs. */
export async function signInPeople(
  folder: string,
  database: Record<string, string>,
  { seed, accomplices: count = 0 }: Pick<Attack, 'seed' | 'accomplices'>,
): Promise<People> {
  const context = await openSeed(folder, database)
  try {
    const people = { victim: await signInAs(context, 'victim'), attacker: await signInAs(context, 'attacker') }
    const accomplices: Person[] = []
    while (accomplices.length < count) accomplices.push(await signInAs(context, `accomplice ${accomplices.length}`))
    for (const person of [people.attacker, ...accomplices]) await seed?.(context, person)
    return { ...people, accomplices }
  } finally {
    await context.close()
  }
}

interface People {
  victim: Person
  attacker: Person
  accomplices: Person[]
}

/** The installation for one attack: its folder, database settings and people. */
export interface Place extends People {
  folder: string
  database: Record<string, string>
  account?: FilledAccount
}

/** Fills an account in a new installation. Returns a function that copies the installation for an attack. */
export async function prepareAccount(root: string, kind: Kind, postgresUrl: string | undefined) {
  const folder = join(root, kind)
  await mkdir(join(folder, 'data'), { recursive: true })
  const url = postgresUrl === undefined ? undefined : await createDatabase(postgresUrl, `of ${kind}`)
  let account: FilledAccount | undefined
  const people = await signInPeople(folder, url === undefined ? {} : { DATABASE_URL: url }, {
    async seed(context, attacker) {
      const data = await openData(url ?? join(folder, 'data', 'bookmarks.db'))
      account = await fillAccount(data, attacker, atLimits[kind])
      await data.close()
      for await (const corrected of recount(context.database))
        if (corrected) throw new Error(`The counters are wrong: ${JSON.stringify(corrected)}`)
    },
  })
  return async (name: string): Promise<Place> => {
    const own = join(root, name)
    await cp(folder, own, { recursive: true })
    const copied = postgresUrl === undefined ? undefined : await createDatabase(postgresUrl, name, `of ${kind}`)
    const data = await openData(copied ?? join(own, 'data', 'bookmarks.db'))
    // Some operations require a recent sign-in.
    await data.run(`UPDATE logins SET created_at = ${Date.now()}`)
    await data.close()
    const database: Place['database'] = copied === undefined ? {} : { DATABASE_URL: copied }
    return { folder: own, database, ...people, ...(account && { account }) }
  }
}

async function signInAs(context: Context, subject: string): Promise<Person> {
  const profile = { email: '', name: '', avatar_url: '', email_verified: false }
  const attempt = { nonce: subject, expiresAt: Date.now() }
  const identity = { issuer: 'bench', subject, ...profile }
  const { session } = await signIn(context, { identity, refreshToken: null, authenticatedAt: null }, attempt, '')
  const [login] = await findLoginsOf(context.database.db, { authorization: `Bearer ${session}` }, Date.now())
  const { userId, loginId } = login as Session
  return { userId, loginId, session }
}

/** Pushes records as this person. The clock stands still: the attack `sockets` needs sequence numbers without gaps. */
export async function storeRecords(
  context: Context,
  { userId, loginId }: Person,
  { count, bytes }: { count: number; bytes: number },
): Promise<void> {
  const now = Date.now()
  const encrypted_data = randomBytes(Math.floor(bytes / 4) * 3).toString('base64')
  const size = Math.floor(batchBytes / bytes)
  for (let first = 0; first < count; first += size) {
    const changes = Array.from({ length: Math.min(size, count - first) }, (_, index) => ({
      ...newChange(first + index, now),
      encrypted_data,
    }))
    await push({ ...context, clock: () => now }, { userId, loginId, deviceId: 'seed' }, changes)
  }
}

export function newChange(number: number, timestamp: number): Schemas['Change'] {
  const own = { id: `${number}-${timestamp}`, entity_id: `b${number}`, timestamp, device_id: 'seed' }
  return { ...own, entity_type: 'bookmark', operation: 'create', encrypted_data: 'x', data_hash: 'h'.repeat(64) }
}
