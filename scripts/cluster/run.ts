import { randomBytes } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { integer } from '../../src/service/config/values.ts'
import { startDevelopmentProvider } from '../../src/service/provider/development/provider.ts'
import { type Report, withProgress } from '../../src/service/terminal/progress.ts'
import { freePort } from '../servers/free-port.ts'
import { startMinio } from '../servers/minio.ts'
import { NoMinioError } from '../servers/minio-binary.ts'
import { startPostgres } from '../servers/postgres.ts'
import { untilStopped } from '../servers/until-stopped.ts'
import { type Instance, startInstances } from './instances.ts'
import { startProxy } from './proxy.ts'

export function runCluster(): Promise<void> {
  return untilStopped(async (opened) => {
    const cluster = await withProgress(({ report }) => start(opened, report))
    for (const { number, exited } of cluster.instances)
      exited.then((how) => console.log(`Instance ${number} has ended (${how}).`))
    opened.defer(async () => console.log('\nStopping.'))
    return announcement(cluster)
  })
}

interface Cluster {
  url: string
  instances: Instance[]
  /** Lines to print: where the database, the exports and the logs are. */
  places: string[]
}

async function start(opened: AsyncDisposableStack, report: Report): Promise<Cluster> {
  const keep = <T extends { close(): Promise<void> }>(part: T): T => opened.adopt(part, (it) => it.close())
  const port = integer(process.env, 'PORT', 3000, 1, 65_535)
  const providerPort = integer(process.env, 'DEV_IDP_PORT', 3001, 1, 65_535)
  const url = `http://127.0.0.1:${port}`
  const ports = [await freePort(), await freePort(), await freePort()]
  const client = { clientId: 'cluster', clientSecret: randomBytes(32).toString('base64url') }

  const { path: folder } = opened.use(await mkdtempDisposable(join(tmpdir(), 'ebs-cluster-')))
  const proxy = keep(await startProxy(port, ports))
  const redirectUri = `${url}/api/v1/auth/callback`
  const provider = keep(await startDevelopmentProvider({ ...client, port: providerPort, redirectUri }))
  report('starting Postgres', 0, 3)
  const postgres = keep(await startPostgres())
  const databaseUrl = `${postgres.url}/postgres`
  report('starting MinIO', 1, 3)
  const store = keep(await startSharedStore(folder))
  report('starting three instances', 2, 3)
  const { instances } = keep(
    await startInstances(ports, folder, {
      PUBLIC_URL: url,
      TRUST_PROXY: '1',
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      SECRET_KEY: randomBytes(32).toString('base64'),
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: client.clientId,
      OIDC_CLIENT_SECRET: client.clientSecret,
      ...store.env,
    }),
  )
  opened.defer(async () => proxy.drain())
  const places = [
    `  database    ${databaseUrl}`,
    `  exports     ${store.name}`,
    `  logs        tail -f ${join(folder, 'instance-*.log')}`,
  ]
  return { url, instances, places }
}

/** MinIO, or a shared folder if MinIO is not available. */
async function startSharedStore(folder: string) {
  try {
    const { createBucket, endpoint, close } = await startMinio()
    return { name: `MinIO at ${endpoint}`, env: await createBucket(), close }
  } catch (error) {
    if (!(error instanceof NoMinioError)) throw error
    const exports = join(folder, 'exports')
    return {
      name: `the folder ${exports}, as there is ${error.message}`,
      env: { EXPORTS_DIR: exports },
      async close() {},
    }
  }
}

function announcement({ url, instances, places }: Cluster): string {
  const [first] = instances as [Instance]
  const lines = [
    `Three instances of the service behind ${url}, until Ctrl-C.`,
    '',
    ...instances.map(({ number, pid, port }) => `  instance ${number}  process ${pid}, http://127.0.0.1:${port}`),
    ...places,
    '',
    'A whole story on them, sign-in included (any name will do):',
    `  BASE_URL=${url} npm run demo -- test/fixtures/bookmarks/firefox_nested.htm`,
    'Which of them answers:',
    `  curl -si ${url}/api/v1/health | grep -i x-instance`,
    'Kill one; the others go on, and within 20 s they finish its exports:',
    `  kill -9 ${first.pid}`,
  ]
  return lines.join('\n')
}
