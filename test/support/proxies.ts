import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { Agent, fetch as fetchVia, type RequestInit } from 'undici'
import { makeCertificate } from '../../scripts/servers/certificate.ts'
import { freePort } from '../../scripts/servers/free-port.ts'
import { tethered } from '../../scripts/servers/tethered.ts'
import { findProgram } from './programs.ts'
import { folder } from './service.ts'

/** The proxies of deploy/, with their files as they are, apart from the address, the certificate and the instances. */
export interface RunningProxy {
  origin: string
  /** The certificate of the origin. */
  ca: Buffer
  /** For requests to the origin. */
  fetch: typeof fetch
  /** Its log of requests; undefined if it keeps none. */
  log?: () => Promise<string>
}

const nginxFile = new URL('../../deploy/nginx/bookmarks.conf', import.meta.url)
const caddyFile = fileURLToPath(new URL('../../deploy/caddy/Caddyfile', import.meta.url))

/** Undefined if there is no nginx. The instances are hosts and ports. */
export async function startNginx(t: Test, instances: string[]): Promise<RunningProxy | undefined> {
  const program = await findProgram('nginx')
  if (!program) return undefined
  const [dir, port] = [await folder(t), await freePort()]
  const { caFile, keyFile } = await makeCertificate(dir)
  const site = fillIn(await readFile(nginxFile, 'utf8'), {
    'server 127.0.0.1:3000 max_fails=0;': instances.map((it) => `server ${it} max_fails=0;`).join(' '),
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    '/etc/ssl/sync.example.org/fullchain.pem': caFile,
    '/etc/ssl/sync.example.org/privkey.pem': keyFile,
    '/var/log/nginx/bookmarks.log': join(dir, 'access.log'),
  })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir};`)
  const config = join(dir, 'nginx.conf')
  await writeFile(
    config,
    `user ${userInfo().username}; pid ${dir}/pid; error_log ${dir}/error.log; daemon off; master_process off; events {}
    http { ${temporary.join(' ')}\n${site} }`,
  )
  await promisify(execFile)(program, ['-t', '-c', config])
  await runProxy(t, [program, '-c', config, '-e', `${dir}/error.log`], port, {})
  return { ...(await proxyAt(t, port, caFile)), log: () => readFile(join(dir, 'access.log'), 'utf8') }
}

/** Undefined if there is no Caddy. It makes its own certificate. */
export async function startCaddy(t: Test, instances: string[]): Promise<RunningProxy | undefined> {
  const program = await findProgram('caddy')
  if (!program) return undefined
  const [dir, port] = [await folder(t), await freePort()]
  const env = {
    HOME: dir,
    XDG_DATA_HOME: dir,
    SITE_ADDRESS: `https://localhost:${port}`,
    UPSTREAMS: instances.join(' '),
  }
  const config = join(dir, 'Caddyfile')
  await writeFile(config, `{\nadmin off\nskip_install_trust\nauto_https disable_redirects\n}\nimport ${caddyFile}\n`)
  await promisify(execFile)(program, ['validate', '--config', caddyFile], { env: { HOME: dir, XDG_DATA_HOME: dir } })
  await runProxy(t, [program, 'run', '--config', config], port, env)
  return proxyAt(t, port, join(dir, 'caddy/pki/authorities/local/root.crt'))
}

function fillIn(text: string, values: Record<string, string>): string {
  return Object.entries(values).reduce((filled, [from, to]) => {
    if (filled.split(from).length !== 2) throw new Error(`it has ${from} not once`)
    return filled.replace(from, to)
  }, text)
}

async function runProxy(t: Test, command: [string, ...string[]], port: number, env: Record<string, string>) {
  // Caddy listens before it has a certificate.
  const isReady = () =>
    new Promise<boolean>((resolve) => {
      get(`https://localhost:${port}/livez`, { rejectUnauthorized: false, agent: false }, (response) => {
        response.resume()
        resolve(true)
      }).on('error', () => resolve(false))
    })
  const server = tethered(command, { lastSignal: 'KILL', isReady, env: { PATH: process.env.PATH, ...env } })
  await server.start()
  t.teardown(() => server.stop())
}

async function proxyAt(t: Test, port: number, caFile: string): Promise<RunningProxy> {
  const ca = await readFile(caFile)
  // Over HTTP/2 this client loses a response that comes before its request is sent.
  const dispatcher = new Agent({ connect: { ca }, allowH2: false })
  t.teardown(() => dispatcher.destroy())
  const send = (url: unknown, request: unknown) => fetchVia(url as string, { ...(request as RequestInit), dispatcher })
  return { origin: `https://localhost:${port}`, ca, fetch: send as unknown as typeof fetch }
}
