import { spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { folder } from '../support/service.ts'
import { configure, deploy, readYaml, stopSeconds } from './files.ts'

interface Service {
  image: string
  environment?: Record<string, string>
  secrets?: string[]
  volumes?: string[]
  networks: string[]
  ports?: string[]
  depends_on?: Record<string, { condition: string }>
  restart?: string
  healthcheck?: object
  read_only?: boolean
  stop_grace_period?: string
}

interface Compose {
  services: Record<string, Service>
  networks: Record<string, object>
  volumes: Record<string, object>
  secrets: Record<string, { file: string }>
}

const compose = readYaml<Compose>('deploy/compose.yaml')
const services = Object.entries(compose.services)
const instances = services.filter(([name]) => name.startsWith('bookmarks-'))
const given = { SITE_ADDRESS: 'sync.example.org', OIDC_ISSUER: 'https://id.example.org', OIDC_CLIENT_ID: 'id' }

/** As compose does it. */
function fillIn(value: string): string {
  return value.replaceAll(/\$\{(\w+)(:\?[^}]*)?\}/g, (_, name: keyof typeof given) => given[name])
}

/** Runs deploy/secrets.sh on a copy of the folder. */
async function makeSecrets(at: string, secret = 'client secret') {
  await copyFile(join(deploy, 'secrets.sh'), join(at, 'secrets.sh'))
  return spawnSync('sh', ['secrets.sh', secret], { cwd: at, encoding: 'utf8' })
}

t.test('compose.yaml: what a service names is declared, and what it mounts is there', async (t) => {
  for (const [name, { image, networks, volumes = [], secrets = [], depends_on = {}, restart }] of services) {
    if (!name.startsWith('bookmarks-')) t.match(image, /^[\w/]+:[\w.-]+$/, `${name} has a version`)
    t.same(
      networks.filter((network) => !(network in compose.networks)),
      [],
    )
    t.same(
      secrets.filter((secret) => !(secret in compose.secrets)),
      [],
    )
    t.same(
      Object.keys(depends_on).filter((other) => !(other in compose.services)),
      [],
    )
    const sources = volumes.map((volume) => volume.split(':')[0] ?? '')
    const isThere = (source: string) =>
      source.startsWith('./')
        ? source.startsWith('./secrets/') || existsSync(join(deploy, source))
        : source in compose.volumes
    t.same(
      sources.filter((source) => !isThere(source)),
      [],
    )
    t.ok(restart === 'unless-stopped' || name === 'bucket')
  }
  t.same(
    services.filter(([, { ports }]) => ports).map(([name]) => name),
    ['caddy'],
    'only the proxy can be reached',
  )
  const upstreams = compose.services.caddy?.environment?.UPSTREAMS
  t.equal(upstreams, instances.map(([name]) => `${name}:3000`).join(' '))
})

t.test('The instances start with these settings and with the secrets that secrets.sh makes', async (t) => {
  const at = await folder(t)
  t.match(await makeSecrets(at), { status: 0, stderr: '' })
  const path = (secret: string) => join(at, compose.secrets[secret]?.file ?? 'nowhere')
  for (const [, { environment = {}, secrets = [], ...instance }] of instances) {
    const files = secrets.map((name) => [`/run/secrets/${name}`, path(name)] as const)
    const env = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        files.find(([inside]) => inside === value)?.[1] ?? fillIn(value),
      ]),
    )
    const { config, unknown } = configure({ NODE_ENV: 'production', ...env })
    t.same(unknown, [])
    const password = readFileSync(path('postgres_password'), 'utf8').trim()
    t.match(config, {
      publicUrl: 'https://sync.example.org',
      databaseUrl: `postgres://bookmarks:${password}@postgres/bookmarks`,
      identityProvider: { clientSecret: 'client secret' },
      s3: { endpoint: 'https://minio:9000' },
    })
    t.ok(Number.parseInt(instance.stop_grace_period ?? '0', 10) >= config.drainSeconds + stopSeconds)
    t.match(instance, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
  }
  const certificate = new X509Certificate(readFileSync(path('store_certificate')))
  t.equal(certificate.subjectAltName, 'DNS:minio')
  t.ok(certificate.checkPrivateKey(createPrivateKey(readFileSync(join(at, 'secrets/store/private.key')))))
})

t.test('secrets.sh keeps what is there, and lets nobody else read it', async (t) => {
  const at = await folder(t)
  await mkdir(join(at, 'secrets'))
  await makeSecrets(at)
  const names = Object.values(compose.secrets).map(({ file }) => join(at, file))
  const read = () => names.map((name) => readFileSync(name, 'utf8'))
  const before = read()
  await makeSecrets(at, 'another')
  t.same(read(), before)
  const secret = names.filter((name) => !name.endsWith('.crt'))
  t.same(new Set(secret.map((name) => statSync(name).mode & 0o777)), new Set([0o600]))
  t.equal(statSync(join(at, 'secrets/store/private.key')).mode & 0o777, 0o600)
  t.equal(spawnSync('sh', ['secrets.sh'], { cwd: at }).status, 1, 'without the client secret it does nothing')
})
