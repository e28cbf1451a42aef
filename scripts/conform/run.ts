import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { serveOwn } from '../servers/service.ts'
import { chooseTools, conformClients, writeTable } from './clients/clients.ts'
import { type SignedIn, signInAs, storeSecrets } from './identities.ts'
import { findSchemathesis, runSchemathesis, type SchemathesisRun } from './schemathesis.ts'

const guide = new URL('../../docs/languages.md', import.meta.url)

/** Returns true if no generated client fails unexpectedly. Updates the table in docs/languages.md. */
export async function conformToClients(names: string[], strict: boolean): Promise<boolean> {
  const tools = chooseTools(names)
  const { passes, attempts } = await withService(({ url }) => conformClients(url, tools, strict))
  await writeTable(guide, attempts)
  return passes
}

/** Operations that end logins. Each runs as a separate person, because the other operations need a session. */
const sessionEnding = ['logout', 'endSession', 'endOtherSessions', 'deleteAccount']

/** Returns true if schemathesis finds no fault, enough requests were signed in, and only Ada got data of Ada. */
export async function conformService(examples: number): Promise<boolean> {
  const program = await findSchemathesis()
  return withService(async ({ url, folder }) => {
    const faults: string[] = []
    const play = async (name: string, identity: Omit<SignedIn, 'client'>, which: Which) => {
      console.log(`\nAs ${name}:`)
      const report = join(folder, `${name}.ndjson`)
      const { session, refresh, userId } = identity
      const status = await runSchemathesis(program, { url, examples, report, session, refresh, userId, ...which })
      if (status !== 0) faults.push(`schemathesis as ${name}`)
      return readTraffic(report)
    }
    /** Also checks that half of the requests had the session and 90% of these were signed in: refusals test little. */
    const playSignedIn = async (person: string, { session, userId }: SignedIn, which: Which) => {
      // Refreshing ends the older sessions of a login, so the refresh token is from another login.
      const { refresh } = await signInAs(url, person)
      const traffic = await play(person, { session, refresh, userId }, which)
      const meant = traffic.filter(({ tokens }) => tokens.includes(session))
      const taken = meant.filter(
        ({ status, path, body }) =>
          (status !== 401 || path.startsWith('/api/v1/auth/')) && !body.includes('"Forbidden user"'),
      )
      console.log(
        `${person}: ${meant.length} of ${traffic.length} requests had the session, ${taken.length} were signed in`,
      )
      if (taken.length < 0.9 * meant.length || meant.length < traffic.length / 2)
        faults.push(`the session of ${person}`)
      return traffic
    }

    const ada = await signInAs(url, 'Ada')
    const { secrets, id } = await storeSecrets(ada)
    const exclude = sessionEnding.join('|')
    const traffics = {
      nobody: await play('nobody', { session: 'none', refresh: 'none', userId: 'none' }, { exclude, id }),
      Bob: await playSignedIn('Bob', await signInAs(url, 'Bob'), { exclude, id }),
      Ada: await playSignedIn('Ada', ada, { exclude }),
    }
    for (const [name, traffic] of Object.entries(traffics)) {
      const holding = traffic.filter(({ body }) => secrets.some((secret) => body.includes(secret))).length
      console.log(`${name}: ${holding} answers hold data of Ada`)
      // Ada must see her own data; otherwise the check could not notice that others do.
      if (holding > 0 !== (name === 'Ada')) faults.push(`the data of Ada in answers to ${name}`)
    }
    for (const include of sessionEnding) await play(include, await signInAs(url, include), { include })
    if (faults.length > 0) console.log(`\nFaults: ${faults.join('; ')}.`)
    return faults.length === 0
  })
}

type Which = Pick<SchemathesisRun, 'include' | 'exclude' | 'id'>

async function withService<Result>(work: (service: { url: URL; folder: string }) => Promise<Result>): Promise<Result> {
  await using opened = new AsyncDisposableStack()
  return await work(await serveOwn(opened, { RATE_LIMIT_PER_MINUTE: '1000000000' }))
}

interface Exchange {
  path: string
  /** The headers that carry tokens. */
  tokens: string
  status: number
  body: string
}

/** A line of the report of schemathesis. */
interface Event {
  ScenarioFinished?: { recorder: { interactions: Record<string, Interaction> } | null }
  EngineFinished?: object
}

interface Interaction {
  request: { uri: string; headers: Record<string, string[]> }
  response: { status_code: number; content: { $base64: string } | null } | null
}

async function readTraffic(report: string): Promise<Exchange[]> {
  const exchanges: Exchange[] = []
  let isComplete = false
  for await (const line of (await open(report)).readLines()) {
    const { ScenarioFinished: scenario, EngineFinished } = JSON.parse(line) as Event
    if (EngineFinished) isComplete = true
    for (const { request, response } of Object.values(scenario?.recorder?.interactions ?? {})) {
      if (!response) continue
      const { Cookie = [], Authorization = [] } = request.headers
      exchanges.push({
        path: new URL(request.uri).pathname,
        tokens: [...Cookie, ...Authorization].join('; '),
        status: response.status_code,
        body: Buffer.from(response.content?.$base64 ?? '', 'base64').toString(),
      })
    }
  }
  if (!isComplete || exchanges.length === 0) throw new Error(`${report} does not hold all of the traffic`)
  return exchanges
}
