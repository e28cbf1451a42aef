/**
 * `npm run conform`: starts the service and runs all phases of schemathesis on openapi.yaml, signed out, as a user and as
 * another user. Then it looks for the first user's data in the responses to the others. EXAMPLES (default 400) is the number
 * of cases for each operation and phase.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Identity, signInAs, storeSecrets } from './conform/identities.ts'
import { findSchemathesis, runSchemathesis } from './conform/schemathesis.ts'
import { spawnService } from './servers/service.ts'

const examples = Number(process.env.EXAMPLES ?? 400)
const program = await findSchemathesis()
const opened = new AsyncDisposableStack()
try {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-conform-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const limit = { RATE_LIMIT_PER_MINUTE: '1000000000' }
  const service = opened.adopt(await spawnService(folder, limit), ({ stop }) => stop())
  await service.ready()

  const ada = await signInAs(service.url, 'Ada')
  const secrets = await storeSecrets(ada)
  const identities: Identity[] = [
    { name: 'nobody', session: 'none', refresh: 'none' },
    { name: 'another user', ...(await signInAs(service.url, 'Bob')) },
    { name: 'the user', ...ada },
  ]
  for (const identity of identities) {
    const report = join(folder, `${identity.name}.har`)
    const status = await runSchemathesis(program, { url: service.url, identity, examples, report })
    if (status !== 0) process.exitCode = 1
    if (identity.name === 'the user') continue
    const leaks = await countLeaks(report, secrets)
    console.log(`${identity.name}: ${leaks} answers hold data of the user`)
    if (leaks > 0) process.exitCode = 1
  }
} finally {
  await opened.disposeAsync()
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
