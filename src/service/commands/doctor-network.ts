import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Config, Proxies } from '../config/config.ts'
import { listeningFault } from '../http/connections.ts'
import { addressOf, createTrust } from '../load/addresses.ts'
import { createAgent } from '../provider/agent.ts'
import { openProvider } from '../provider/openid.ts'
import { type Finding, failure, ok, warning } from './doctor-place.ts'

const callMs = 5_000
/** The allowed difference between this machine's clock and the provider's. */
const toleranceMs = 30_000

/** Checks the provider's metadata and clock, and lists what must be registered there. */
export async function examineIssuer({ identityProvider, publicUrl, environment }: Config): Promise<Finding[]> {
  if (!identityProvider) return [ok('provider', 'the one of development, where anybody can sign in under any name')]
  const redirectUri = `${publicUrl}/api/v1/auth/callback`
  const { issuer, proxies } = identityProvider
  const register = ok('provider', `register this redirect URI there: ${redirectUri}`)
  const provider = openProvider({ ...identityProvider, redirectUri, allowHttp: environment === 'development' })
  try {
    await provider.probe()
    return [ok('provider', `${issuer} answers`), register, ...(await examineIssuersClock(issuer, proxies))]
  } catch (error) {
    const { message, cause } = error as Error
    const reason = cause instanceof Error && cause.message !== message ? ` (${cause.message})` : ''
    const says = `OIDC_ISSUER: ${issuer}: ${message}${reason}`
    return [failure('provider', says, 'nobody can sign in until it answers'), register]
  } finally {
    await provider.close()
  }
}

async function examineIssuersClock(issuer: string, proxies: Proxies): Promise<Finding[]> {
  const place = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const agent = createAgent(callMs, proxies)
  const response = await agent.fetch(place, { signal: AbortSignal.timeout(callMs) }).catch(() => undefined)
  await response?.body?.cancel()
  await agent.close()
  const there = Date.parse(response?.headers.get('date') ?? '')
  const apart = Date.now() - there
  if (Number.isNaN(there) || Math.abs(apart) <= toleranceMs) return []
  const says = `it is ${Math.round(Math.abs(apart) / 1000)} s ${apart > 0 ? 'ahead of' : 'behind'} the provider's`
  return [failure('clock', says, 'synchronize it: sign-ins fail')]
}

/** Asks for the region and lists the bucket. Writes nothing. */
export async function examineBucket({ s3 }: Config): Promise<Finding[]> {
  if (!s3) return []
  try {
    const { openS3Store } = await import('../objects/s3.ts')
    await (await openS3Store(s3, undefined, 'read')).close()
    const says = `${s3.bucket} can be listed; only the start tests that it accepts objects and hides them from requests without a key`
    return [ok('bucket', says)]
  } catch (error) {
    return [failure('bucket', (error as Error).message, 'there are no exports until it can be used')]
  }
}

/** Checks the listening address and what arrives there. A running service occupies its ports, which is fine. */
export async function examineListening(config: Config): Promise<Finding[]> {
  const { host, port, adminHost, adminPort } = config
  const [server, admin] = [createServer(), createServer()]
  try {
    const fault = await listen(server, '', host, port)
    const adminFault = adminPort === undefined ? undefined : await listen(admin, 'ADMIN_', adminHost, adminPort)
    if (fault && (await isService(host, port))) return await examineProxy(config, undefined)
    const findings = [fault, adminFault].flatMap((each): Finding[] =>
      each ? [failure('listening', each.message, 'the service does not start with this')] : [],
    )
    return fault ? findings : [...findings, ...(await examineProxy(config, server))]
  } finally {
    for (const each of [server, admin]) {
      each.closeAllConnections()
      each.close()
    }
  }
}

/** Resolves to the error, if any. */
async function listen(server: Server, prefix: '' | 'ADMIN_', host: string, port: number): Promise<Error | undefined> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return listeningFault(prefix, host, port, error) as Error
  }
}

async function isService(host: string, port: number): Promise<boolean> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`
  const response = await fetch(url, { signal: AbortSignal.timeout(callMs), redirect: 'manual' }).catch(() => undefined)
  return response?.status === 200 && (await response.text()).includes('"alive"')
}

/**
 * Checks that a request to PUBLIC_URL arrives here, and that the proxies in between report the caller's address.
 *
 * @param server listens in place of the service; undefined while the service runs
 */
async function examineProxy(config: Config, server: Server | undefined): Promise<Finding[]> {
  const { publicUrl, host, port } = config
  if (port === 0) return [ok('proxy', 'PORT is 0, which means any free port, so none was tried')]
  const seen = Promise.withResolvers<IncomingMessage>()
  const mark = randomUUID()
  server?.on('request', (request, response) => {
    response.end('ok')
    if (request.url === `/livez?${mark}`) seen.resolve(request)
  })
  const url = `${publicUrl}/livez${server ? `?${mark}` : ''}`
  const response = await fetch(url, { signal: AbortSignal.timeout(callMs), redirect: 'manual' }).catch(reasonOf)
  if (typeof response === 'string') {
    const says = `${publicUrl} cannot be reached from here (${response})`
    const todo = 'check DNS, the certificate and the proxy, unless only this machine cannot reach it'
    return [warning('proxy', says, todo)]
  }
  const body = await response.text().catch(reasonOf)
  if (response.status !== 200) {
    const todo = 'let the proxy send it to HOST and PORT'
    return [failure('proxy', `${publicUrl}/livez returned status ${response.status}`, todo)]
  }
  if (!server) {
    const says = `${publicUrl} answers; what proxies add can be seen only while the service is stopped`
    return [ok('proxy', says)]
  }
  const request = await Promise.race([seen.promise, undefined])
  if (body === 'ok' && request) return [judge(config, request)]
  const todo = `point it to port ${port} of ${host}`
  return [failure('proxy', `${publicUrl} reaches another server`, todo)]
}

function reasonOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message
}

function judge({ trustProxy, publicUrl }: Config, { headers, socket }: IncomingMessage): Finding {
  const forwarded = String(headers['x-forwarded-for'] ?? '')
  const hops = forwarded.split(',').filter((address) => address.trim() !== '')
  if (hops.length === 0) {
    const says = `${publicUrl} arrives without X-Forwarded-For`
    if (trustProxy === false) return ok('proxy', says)
    return failure('proxy', says, 'let the proxy send it, or unset TRUST_PROXY: anybody could choose an address')
  }
  const says = `${publicUrl} arrives with X-Forwarded-For: ${forwarded}`
  if (trustProxy === false) {
    const todo = `set TRUST_PROXY=${hops.length}: without it, all users share the limits of one address`
    return failure('proxy', says, todo)
  }
  const unreadable = hops.find((entry) => addressOf(entry) === undefined)
  if (unreadable !== undefined) {
    const todo = `let the proxies write addresses: callers behind "${unreadable.trim()}" share the limits of one address`
    return failure('proxy', says, todo)
  }
  const trust = createTrust(trustProxy)
  const chain = [socket.remoteAddress ?? '', ...hops.map((entry) => addressOf(entry) ?? '').reverse()]
  const believed = chain.findIndex((address, hop) => !trust(address, hop))
  const trusted = believed < 0 ? chain.length : believed
  // TRUST_PROXY as a list may also include this machine, which sent the request.
  const isNamed = typeof trustProxy !== 'function' && trusted > hops.length
  if (trusted === hops.length || isNamed) return ok('proxy', says)
  const todo = `TRUST_PROXY trusts ${trusted} of them: set it to ${hops.length}, if all are yours`
  return (trusted > hops.length ? failure : warning)('proxy', says, todo)
}
