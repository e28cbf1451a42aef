import { openChunks } from '../../../src/client/export-file/chunks.ts'
import { buildApp, type TestUser } from '../../support/app.ts'
import type { Answered } from '../../support/contract.ts'
import { setCookies } from '../../support/cookies.ts'
import { sweepExports, sweepRows, sweepVersions } from '../../support/sweeps.ts'
import { holdExports } from './held-exports.ts'
import { createNames } from './names.ts'
import { type Call, type Person, people, type Step, start } from './steps.ts'
import { openStored } from './stored.ts'

interface Login extends Pick<TestUser, 'userId' | 'session' | 'refresh'> {
  /** The session token before the last refresh. */
  older: string
}

/** Those that an operation decides; the others are the same in every response, or different in every one. */
const headersShown = [
  'content-type',
  'content-length',
  'content-disposition',
  'content-range',
  'etag',
  'retry-after',
  'set-cookie',
]

/** More than any script makes. */
const mostPages = 100

export type Side = Awaited<ReturnType<typeof openSide>>

/** The service on a database and an object store. It plays scripts, one after the other; each begins with nothing stored. */
export async function openSide(env: Record<string, string>) {
  const closing: (() => unknown)[] = []
  const app = await buildApp({ teardown: (close) => closing.push(close) }, { LOG_LEVEL: 'silent', ...env })
  const exports = holdExports(app)
  const stored = await openStored(app)
  const epoch = await app.context.database.db.selectFrom('epoch').select('id').executeTakeFirstOrThrow()
  let names = createNames()
  const logins = new Map<string, Login>()
  const cursors = new Map<Person, number>()
  /** Most scripts make none. */
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

  /** An export file is opened with the key that its owner gets for it. */
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
    /** What is seen of the step, in the words of the script. */
    play: async (step: Step) => (await play(step)).map(names.hide),
    /** Everything that is stored. */
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
