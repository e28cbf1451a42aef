import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
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

/** A proxy with its file from deploy/, unchanged except for the address, certificate, instances and log. */
export interface RunningProxy {
  origin: string
  /** The certificate of the origin. */
  ca: Buffer
  /** Sends requests to the origin. */
  fetch: typeof fetch
  /** Reads the proxy's access log. Undefined if it has none. */
  log?: () => Promise<string>
}

const nginxFile = new URL('../../deploy/nginx/bookmarks.conf', import.meta.url)
const caddyFile = fileURLToPath(new URL('../../deploy/caddy/Caddyfile', import.meta.url))

/** Starts nginx in front of these instances (hosts and ports). Undefined if nginx is not installed. */
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
  const command = await nginxOf(program, dir, site)
  await promisify(execFile)(program, ['-t', ...command.slice(1, 3)])
  await runProxy(t, command, `https://localhost:${port}`)
  return { ...(await proxyAt(t, port, caFile)), log: () => readFile(join(dir, 'access.log'), 'utf8') }
}

/** Starts Caddy, which makes its own certificate. Undefined if Caddy is not installed. */
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
  await runProxy(t, [program, 'run', '--config', config], `https://localhost:${port}`, env)
  return proxyAt(t, port, join(dir, 'caddy/pki/authorities/local/root.crt'))
}

type Command = [program: string, ...options: string[]]

interface Site {
  port: number
  /** The site's configuration. */
  lines: string
}

/** Writes the program's configuration into the folder and returns the command that runs it. */
type Configure = (program: string, dir: string, sites: Site[]) => Promise<Command>

const siteServers = {
  nginx: (program, dir, sites) => {
    const servers = sites.map(({ port, lines }) => `server { listen 127.0.0.1:${port}; ${lines} }`)
    const http = ['access_log off; limit_req_zone $server_name zone=narrow:1m rate=1r/m;', ...servers]
    return nginxOf(program, dir, http.join('\n'))
  },
  haproxy: async (program, dir, sites) => {
    const config = join(dir, 'haproxy.cfg')
    const frontends = sites.map(({ port, lines }) => `frontend f${port}\n  bind 127.0.0.1:${port}\n  ${lines}\n`)
    const defaults = 'defaults\n  mode http\n  timeout connect 2s\n  timeout client 20s\n  timeout server 20s\n'
    await writeFile(config, `${defaults}backend dead\n  server s 127.0.0.1:1\n${frontends.join('')}`)
    return [program, '-db', '-f', config]
  },
  caddy: async (program, dir, sites) => {
    const config = join(dir, 'Caddyfile')
    const blocks = sites.map(({ port, lines }) => `http://127.0.0.1:${port} {\n${lines}\n}\n`)
    await writeFile(config, `{\nadmin off\nauto_https off\n}\n${blocks.join('')}`)
    return [program, 'run', '--config', config]
  },
} satisfies Record<string, Configure>

/** Starts the program with a site for each configuration and returns their origins; undefined if it is not installed. */
export async function startSites(
  t: Test,
  name: keyof typeof siteServers,
  configurations: string[],
): Promise<string[] | undefined> {
  const program = await findProgram(name)
  if (!program) return undefined
  const [dir, sites] = [await folder(t), [] as Site[]]
  for (const lines of configurations) sites.push({ port: await freePort(), lines })
  const origins = sites.map(({ port }) => `http://127.0.0.1:${port}`)
  await runProxy(t, await siteServers[name](program, dir, sites), origins[0], { HOME: dir, XDG_DATA_HOME: dir })
  return origins
}

async function nginxOf(program: string, dir: string, http: string): Promise<Command> {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir};`)
  const config = join(dir, 'nginx.conf')
  await writeFile(
    config,
    `user ${userInfo().username}; pid ${dir}/pid; error_log ${dir}/error.log; daemon off; master_process off; events {}
    http { ${temporary.join(' ')}\n${http} }`,
  )
  return [program, '-c', config, '-e', `${dir}/error.log`]
}

function fillIn(text: string, values: Record<string, string>): string {
  return Object.entries(values).reduce((filled, [from, to]) => {
    if (filled.split(from).length !== 2) throw new Error(`it has ${from} not once`)
    return filled.replace(from, to)
  }, text)
}

async function runProxy(t: Test, command: Command, origin = '', env: Record<string, string> = {}): Promise<void> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  // Caddy listens before it has a certificate.
  const isReady = () => fetchVia(`${origin}/livez`, { dispatcher }).then(Boolean, () => false)
  const server = tethered(command, { lastSignal: 'KILL', isReady, env: { PATH: process.env.PATH, ...env } })
  t.teardown(() => server.stop())
  await server.start()
  await dispatcher.destroy()
}

async function proxyAt(t: Test, port: number, caFile: string): Promise<RunningProxy> {
  const ca = await readFile(caFile)
  // Over HTTP/2 this client loses a response that comes before its request is sent.
  const dispatcher = new Agent({ connect: { ca }, allowH2: false })
  t.teardown(() => dispatcher.destroy())
  const send = (url: unknown, request: unknown) => fetchVia(url as string, { ...(request as RequestInit), dispatcher })
  return { origin: `https://localhost:${port}`, ca, fetch: send as unknown as typeof fetch }
}
