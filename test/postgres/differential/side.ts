import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import fc, { type Parameters } from 'fast-check'
import { sql } from 'kysely'
import { openChunks } from '../../../src/client/export-file/export-file.ts'
import { buildApp, type TestApp, type TestUser } from '../../support/app.ts'
import type { Answered } from '../../support/contract.ts'
import { setCookies } from '../../support/cookies.ts'
import { sweepExports, sweepRows, sweepVersions } from '../../support/sweeps.ts'
import { type Call, describeStep, type Person, people, type Step, script, start } from './scripts.ts'

interface Login extends Pick<TestUser, 'userId' | 'session' | 'refresh'> {
  /** The session token before the last refresh. */
  older: string
}

const headersShown = [
  'content-type',
  'content-length',
  'content-disposition',
  'content-range',
  'etag',
  'retry-after',
  'set-cookie',
]

/** More pages than any script makes. */
const mostPages = 100

type Side = Awaited<ReturnType<typeof openSide>>

/** The service on a database and an object store. It plays scripts one after another, each on an empty database. */
async function openSide(env: Record<string, string>) {
  const closing: (() => unknown)[] = []
  const app = await buildApp({ teardown: (close) => closing.push(close) }, { LOG_LEVEL: 'silent', ...env })
  // It depends on the minute in which a side checked its clock. test/db/clock-movements.test.ts tests it.
  app.context.clockGuard.behindMs = () => 0
  const exports = holdExports(app)
  const stored = await openStored(app)
  const epoch = await app.context.database.db.selectFrom('epoch').select('id').executeTakeFirstOrThrow()
  let names = createNames()
  const logins = new Map<string, Login>()
  const cursors = new Map<Person, number>()
  /** False for most scripts, which can skip the work for exports. */
  let hasExports = false

  async function signIn(by: Person, place: number): Promise<Login> {
    const { userId, session, refresh } = await app.user(by)
    const login = { userId, session, refresh, older: session }
    logins.set(`${by} ${place}`, login)
    return login
  }

  async function call(step: Call): Promise<string> {
    const login = logins.get(`${step.by} ${step.login}`) ?? (await signIn(step.by, step.login))
    const cookie = cookieOf(step, login)
    const payload = payloadOf(step)
    const headers = {
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...JSON.parse(names.reveal(JSON.stringify(step.headers ?? {}))),
      ...(cookie && { cookie }),
    }
    const answer = await app.call(step.method, names.reveal(step.path), { headers, payload })
    const session = setCookies(answer).find(({ name, value }) => name === 'service_session' && value !== '')
    if (session) Object.assign(login, { session: session.value, older: login.session })
    const cursor = answer.body?.last_sync_timestamp
    if (cursor !== undefined) cursors.set(step.by, cursor)
    if (step.path.startsWith('/api/v1/exports')) {
      hasExports = true
      await exports.taken()
    }
    return `${answer.status} ${describeHeaders(answer)} ${await describeBody(step, answer, cookie)}`
  }

  function payloadOf({ by, body, payload = JSON.stringify(body) }: Call): string | undefined {
    return payload && names.reveal(payload).replaceAll('"(cursor)"', String(cursors.get(by) ?? 0))
  }

  /** The text of a body. An export file is decrypted with its owner's export key. */
  async function describeBody({ path }: Call, { status, headers, raw }: Answered, cookie = ''): Promise<string> {
    if (headers['content-type'] !== 'application/octet-stream') return raw.toString()
    const get = (url: string) => app.call('GET', names.reveal(url), { headers: { cookie } })
    const file = status === 206 ? (await get(path)).raw : raw
    const { body } = await get(`/api/v1/account/export-key?export=${path.split('/').at(-1)}`)
    const chunks = openChunks(file, Buffer.from(body.key, 'base64'))
    const text = Buffer.concat(await Array.fromAsync(chunks, (chunk) => chunk.slice())).toString()
    return `bytes ${file.indexOf(raw)} to ${file.indexOf(raw) + raw.length} of the file of ${text}`
  }

  async function pullAll(step: Call): Promise<string[]> {
    const pages: string[] = []
    do pages.push(await call(step))
    while (pages.length < mostPages && pages.at(-1)?.includes('"has_more":true'))
    return pages
  }

  async function play(step: Step): Promise<string[]> {
    switch (step.do) {
      case 'call':
        return [await call(step)]
      case 'pull all':
        return pullAll(step)
      case 'sign in':
        return [(await signIn(step.by, step.login)).userId]
      case 'finish exports':
        await exports.letGo()
        return []
      case 'set clock':
        app.setClock(start + step.ms)
        return []
      case 'sweep':
        await sweepRows(app.context.database, app.context.clock())
        await sweepVersions(app.context, app.context.clock())
        await sweepExports(app.context)
        return []
    }
  }
  return {
    async begin(): Promise<void> {
      if (hasExports) {
        await exports.letGo()
        await stored.removeObjects()
        hasExports = false
      }
      await stored.removeUsers()
      names = createNames()
      names.hide(epoch.id)
      logins.clear()
      cursors.clear()
      app.setClock(start)
      for (const by of people) names.hide((await signIn(by, 0)).userId)
    },
    play: async (step: Step) => (await play(step)).map(names.hide),
    /** Ends the script, and returns what is stored. */
    async end(): Promise<string[]> {
      if (hasExports) await exports.letGo()
      const lines = [...(await stored.listRows()), ...(hasExports ? await stored.listObjects() : [])]
      return lines.map(names.hide)
    },
    async close(): Promise<void> {
      for (const close of closing) await close()
    },
  }
}

function cookieOf({ cookie }: Call, { session, refresh, older }: Login): string | undefined {
  const cookies = {
    session: `service_session=${session}`,
    refresh: `service_refresh=${refresh}`,
    both: `service_session=${session}; service_refresh=${refresh}`,
    older: `service_session=${older}`,
    twice: `service_session=${'x'.repeat(43)}; service_session=${session}`,
    stranger: `service_session=${'x'.repeat(43)}`,
    none: undefined,
  }
  return cookies[cookie]
}

function describeHeaders({ headers }: Answered): string {
  return JSON.stringify(headers, headersShown).replaceAll(/=[\w-]{43};/g, '=token;')
}

const maxRunning = 2

/** Holds all exports until they are released, so that responses do not depend on the speed of the worker. */
function holdExports({ context: { database, objects } }: TestApp) {
  const put = objects.put
  const held = new Set<string>()
  let gate = Promise.withResolvers<void>()
  objects.put = async (key, exportKey, content, signal) => {
    held.add(key)
    await Promise.race([gate.promise, aborted(signal)]).finally(() => held.delete(key))
    return put(key, exportKey, content, signal)
  }

  async function countUnfinished(): Promise<number> {
    const unfinished = database.db.selectFrom('exports').select('id').where('status', 'in', ['pending', 'processing'])
    return (await unfinished.execute()).length
  }
  return {
    /** Waits until the worker has begun as many exports as it makes at a time, or all if there are fewer. */
    async taken(): Promise<void> {
      while (held.size !== Math.min(maxRunning, await countUnfinished())) await sleep(1)
    },
    /** Lets the worker finish all exports, and holds later ones. */
    async letGo(): Promise<void> {
      gate.resolve()
      while ((await countUnfinished()) > 0) await sleep(1)
      gate = Promise.withResolvers()
    },
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** The rows and objects that a side has stored, as lines that can be compared with those of the other side. */
async function openStored({ context: { database, objects } }: TestApp) {
  const all = (await database.db.introspection.getTables()).map(({ name }) => name)
  // A script does not write these tables.
  const tables = all.filter((name) => !['heartbeat', 'applied_migrations'].includes(name)).sort()

  async function readTable(table: string): Promise<string[]> {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(database.db)
    return rows.map((row) => `${table} ${JSON.stringify(row, withoutSecrets)}`).sort()
  }
  return {
    listRows: async () => (await Promise.all(tables.map(readTable))).flat(),
    listObjects: async () => (await Array.fromAsync(objects.list(), (key) => `object ${key}`)).sort(),
    /** Deletes all users and their data. Foreign keys delete the rows of tables that are not listed. */
    async removeUsers(): Promise<void> {
      const listed = ['users', 'identities', 'records', 'ciphertexts', 'versions', 'used_nonces'] as const
      for (const table of listed) await database.db.deleteFrom(table).execute()
    },
    async removeObjects(): Promise<void> {
      for await (const key of objects.list()) await objects.remove(key)
    },
  }
}

/** Replaces random values that nothing refers to, so that they need no names. */
function withoutSecrets(column: string, value: unknown): unknown {
  // Each side writes this column at most every 30 s, at different moments.
  if (column === 'last_used_at') return 'some hour'
  const isSecret = (column.endsWith('_sealed') && value !== null) || column === 'hash' || column === 'nonce'
  return isSecret ? 'secret' : value
}

/** An id that the service made (a UUIDv7, so later ids are greater), or an export key. */
const made = /([\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12})|(?<![\w+/])[\w+/]{43}=/g

/** Numbers the service's random ids and keys in order of first appearance: `(0)`, `(1)` …, and `(key 0)` … */
function createNames() {
  const ids: string[] = []
  const keys: string[] = []
  const place = (values: string[], value: string) => {
    const known = values.indexOf(value)
    return known < 0 ? values.push(value) - 1 : known
  }
  return {
    hide: (text: string) =>
      text.replaceAll(made, (value, id) => (id ? `(${place(ids, value)})` : `(key ${place(keys, value)})`)),
    /** Replaces names with their ids. A name that no id has yet stays as it is. */
    reveal: (text: string) => text.replaceAll(/\((\d+)\)/g, (name, index) => ids[index] ?? name),
  }
}

export interface Task {
  /** The environments of the two sides, by their names in a report. */
  sides: Record<string, Record<string, string>>
  parameters: Parameters<[Step[]]>
}

const { sides, parameters } = workerData as Task
const names = Object.keys(sides)
const [one, other] = (await Promise.all(Object.values(sides).map(openSide))) as [Side, Side]
let steps = 0

async function play(script: Step[]): Promise<void> {
  const story: string[] = []
  await Promise.all([one.begin(), other.begin()])
  for (const step of script) {
    steps += 1
    story.push(describeStep(step))
    compare(story, await Promise.all([one.play(step), other.play(step)]))
  }
  story.push('What is stored in the end')
  compare(story, await Promise.all([one.end(), other.end()]))
}

/** Appends the answers to the story. If they differ, throws the story so far with the lines that only one side has. */
function compare(story: string[], [seen, seenByOther]: [string[], string[]]): void {
  if (seen.join('\n') === seenByOther.join('\n')) story.push(...seen.map((line) => `    ${line}`))
  else {
    const only = (name: string | undefined, lines: string[], others: string[]) =>
      lines.filter((line) => !others.includes(line)).map((line) => `    on ${name}: ${line}`)
    story.push(...only(names[0], seen, seenByOther), ...only(names[1], seenByOther, seen))
    throw new Error(abbreviate(['They differ:', ...story].join('\n')))
  }
}

function abbreviate(text: string): string {
  return text.replaceAll(/(.)\1{19,}/g, ({ length }, character) => `${character}(${length} times)`)
}

try {
  await fc.assert(fc.asyncProperty(script, play), parameters)
  parentPort?.postMessage(steps)
} finally {
  await Promise.all([one.close(), other.close()])
}
