import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnService } from '../servers/service.ts'
import { chooseTools, conformClients } from './clients/clients.ts'
import { type Identity, signInAs, storeSecrets } from './identities.ts'
import { findSchemathesis, runSchemathesis } from './schemathesis.ts'

/** Returns whether all generated clients live through their story. */
export async function conformToClients(names: string[], strict: boolean): Promise<boolean> {
  const tools = chooseTools(names)
  return withService(({ url }) => conformClients(url, tools, strict))
}

/** Returns whether the service keeps to the contract, and tells nobody what is another user's. */
export async function conformService(examples: number): Promise<boolean> {
  const program = await findSchemathesis()
  return withService(async ({ url, folder }) => {
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
  })
}

async function withService<Result>(work: (service: { url: URL; folder: string }) => Promise<Result>): Promise<Result> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'ebs-conform-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const limit = { RATE_LIMIT_PER_MINUTE: '1000000000' }
  const service = opened.adopt(await spawnService(folder, limit), ({ stop }) => stop())
  await service.ready()
  return await work({ url: service.url, folder })
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
