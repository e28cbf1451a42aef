/**
 * `npm run conform`: starts the service and runs all phases of schemathesis on openapi.yaml, signed out, as a user and as
 * another user. Then it looks for the first user's data in the responses to the others. EXAMPLES (default 400) is the number
 * of cases for each operation and phase.
 *
 * `npm run conform -- --clients [NAME...]`: generates clients in other languages, builds them, and lets each live through the
 * story of conform/stories/README.md. Tools that the machine lacks are left out, unless `--strict` is given.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chooseTools, conformClients } from './conform/clients/clients.ts'
import { type Identity, signInAs, storeSecrets } from './conform/identities.ts'
import { findSchemathesis, runSchemathesis } from './conform/schemathesis.ts'
import { spawnService } from './servers/service.ts'

const { values, positionals } = parseArgs({
  options: { clients: { type: 'boolean', default: false }, strict: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const tools = chooseTools(positionals)
const opened = new AsyncDisposableStack()
try {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-conform-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const limit = { RATE_LIMIT_PER_MINUTE: '1000000000' }
  const service = opened.adopt(await spawnService(folder, limit), ({ stop }) => stop())
  await service.ready()
  const passes = values.clients
    ? await conformClients(service.url, tools, values.strict)
    : await conformService(service.url, folder)
  if (!passes) process.exitCode = 1
} finally {
  await opened.disposeAsync()
}

async function conformService(url: URL, folder: string): Promise<boolean> {
  const program = await findSchemathesis()
  const examples = Number(process.env.EXAMPLES ?? 400)
  const ada = await signInAs(url, 'Ada')
  const secrets = await storeSecrets(ada)
  const identities: Identity[] = [
    { name: 'nobody', session: 'none', refresh: 'none' },
    { name: 'another user', ...(await signInAs(url, 'Bob')) },
    { name: 'the user', ...ada },
  ]
  let passes = true
  for (const identity of identities) {
    const report = join(folder, `${identity.name}.har`)
    const status = await runSchemathesis(program, { url, identity, examples, report })
    if (status !== 0) passes = false
    if (identity.name === 'the user') continue
    const leaks = await countLeaks(report, secrets)
    console.log(`${identity.name}: ${leaks} answers hold data of the user`)
    if (leaks > 0) passes = false
  }
  return passes
}

interface Har {
  log: { entries: { response: { content: { text?: string; encoding?: string } } }[] }
}

/** How many responses of the recorded traffic contain one of the secrets. */
async function countLeaks(report: string, secrets: string[]): Promise<number> {
  const { log } = JSON.parse(await readFile(report, 'utf8')) as Har
  if (log.entries.length === 0) throw new Error(`${report} holds no traffic`)
  const bodies = log.entries.map(({ response: { content } }) =>
    Buffer.from(content.text ?? '', content.encoding === 'base64' ? 'base64' : 'utf8').toString(),
  )
  return bodies.filter((body) => secrets.some((secret) => body.includes(secret))).length
}
