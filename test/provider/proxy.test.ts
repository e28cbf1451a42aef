/** Reaching the provider through a forward proxy (HTTPS_PROXY). */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, request as send } from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import { makeCertificate } from '../../scripts/servers/certificate.ts'
import { runCommand } from '../support/command.ts'
import { open, refresh, signIn, startMock, startPair } from '../support/relying-party.ts'
import { folder, startService } from '../support/service.ts'

const credentials = 'ann:s3cret%20word'
const authorization = `Basic ${Buffer.from('ann:s3cret word').toString('base64')}`

interface ForwardProxy {
  url: string
  /** The requests that the proxy received, with their credentials. */
  asked: [request: string, authorization: string | undefined][]
  /** If set, the proxy answers each CONNECT with this status. If empty, it does not answer. */
  refuses: string | undefined
}

/** Starts a proxy that works like Squid: http by absolute URLs, https by CONNECT. */
async function startForwardProxy(t: Test): Promise<ForwardProxy> {
  const server = createServer((request, response) => {
    const { url = '', method, headers } = request
    proxy.asked.push([`${method} ${url}`, headers['proxy-authorization']])
    const sent = send(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(sent.on('error', () => response.destroy()))
  })
  server.on('connect', ({ url = '', headers }, socket, head) => {
    proxy.asked.push([`CONNECT ${url}`, headers['proxy-authorization']])
    if (proxy.refuses !== undefined) return void socket.end(proxy.refuses && `HTTP/1.1 ${proxy.refuses} No\r\n\r\n`)
    const [, host = '', port] = /^(.*):(\d+)$/.exec(url) ?? []
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
    })
    for (const one of [socket, upstream]) one.on('error', () => void [socket.destroy(), upstream.destroy()])
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://${credentials}@127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxy: ForwardProxy = { url, asked: [], refuses: undefined }
  return proxy
}

/** Starts the mock provider behind TLS, with a certificate that no system trusts. */
async function startTlsProvider(t: Test) {
  const mock = await startMock(t)
  const { caFile, keyFile } = await makeCertificate(await folder(t))
  const pair = { cert: await readFile(caFile), key: await readFile(keyFile) }
  const server = https.createServer(pair, ({ url, method, headers }, response) => {
    const sent = send(`${mock.issuer}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    sent.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const host = `localhost:${(server.address() as AddressInfo).port}`
  mock.alter.discovery = (metadata) => {
    for (const [name, value] of Object.entries(metadata))
      if (typeof value === 'string') metadata[name] = value.replace(mock.issuer, `https://${host}`)
  }
  return { host, issuer: `https://${host}`, caFile }
}

t.test("Sign-in and refresh use only the proxy, unless NO_PROXY names the provider's host", async (t) => {
  const { mock } = await startPair(t)
  const proxy = await startForwardProxy(t)
  const through = open(t, mock.issuer, { proxies: { http: proxy.url, https: undefined, none: 'other.example' } })
  const { refreshToken } = await signIn(through)
  await refresh(through, refreshToken)
  const reached = mock.requests.filter(({ endpoint }) => endpoint !== 'authorize')
  t.equal(proxy.asked.length, reached.length)
  t.same([...new Set(proxy.asked.map(([, sent]) => sent))], [authorization])
  t.ok(proxy.asked.every(([request]) => request.includes(` ${mock.issuer}/`)))

  proxy.asked.length = 0
  for (const none of ['127.0.0.1', 'other.example, 127.0.0.1', '*']) {
    await signIn(open(t, mock.issuer, { proxies: { http: proxy.url, https: proxy.url, none } }))
    t.same(proxy.asked, [], none)
  }
})

t.test('The service and doctor reach an https provider by CONNECT and trust NODE_EXTRA_CA_CERTS', async (t) => {
  const { host, issuer, caFile } = await startTlsProvider(t)
  const proxy = await startForwardProxy(t)
  const env = { OIDC_ISSUER: issuer, NODE_EXTRA_CA_CERTS: caFile, HTTPS_PROXY: proxy.url, LOG_LEVEL: 'trace' }
  const start = async () => {
    const service = await startService(t, await folder(t), env)
    const { status, body } = await service.call('POST', '/api/v1/auth/login', { body: {} })
    return { ...service, status, body }
  }
  const { status, body } = await start()
  t.equal(status, 200)
  t.match(body.authorizationUrl, `${issuer}/authorize?`)
  t.same(new Set(proxy.asked.map(([request]) => request)), new Set([`CONNECT ${host}`]))
  t.same(proxy.asked[0]?.[1], authorization)

  const doctor = async () =>
    (await runCommand(t, 'doctor', [], { ...env, OIDC_CLIENT_ID: 'a', OIDC_CLIENT_SECRET: 'b' })).stdout
  proxy.asked.length = 0
  t.match(await doctor(), `${issuer} answers`)
  t.ok(proxy.asked.length > 0)

  proxy.refuses = '407'
  const refused = await start()
  t.equal(refused.status, 500)
  const fault = `GET ${issuer}/.well-known/openid-configuration failed: the proxy returned status 407`
  t.match(refused.stdout(), fault)
  t.match(await doctor(), fault)
  t.notMatch(refused.stdout() + refused.stderr(), /s3cret|ann:|YW5uOnMzY3JldCB3b3Jk/, 'the credentials are not logged')
})

t.test('If the proxy is unreachable or refuses, the error says that the provider got no request', async (t) => {
  const proxy = await startForwardProxy(t)
  const fails = async (https: string, message: RegExp) => {
    const through = open(t, 'https://id.invalid', { proxies: { http: undefined, https, none: undefined } })
    await t.rejects(through.probe(), { name: 'ProviderUnavailableError', mayHaveActed: false, message })
  }
  proxy.refuses = '403'
  await fails(proxy.url, /failed: the proxy returned status 403$/)
  proxy.refuses = ''
  await fails(proxy.url, /failed: the proxy closed the connection$/)
  await fails(`http://${credentials}@127.0.0.1:9`, /failed$/)
})
