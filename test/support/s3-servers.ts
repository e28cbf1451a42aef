import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'
import { makeCertificate } from '../../scripts/servers/certificate.ts'
import type { S3Environment } from '../../scripts/servers/minio.ts'

/** Starts an https server. Returns the environment variables that make the service use it as its object store. */
export async function startTlsServer(t: Test, listener: RequestListener): Promise<S3Environment> {
  const { caFile, keyFile } = await makeCertificate(t.testdir())
  const pair = { cert: await readFile(caFile), key: await readFile(keyFile) }
  // On a busy machine, more than Node's five seconds may pass between two requests over a connection.
  const server = https.createServer({ ...pair, keepAliveTimeout: 0 }, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    S3_ENDPOINT: `https://localhost:${(server.address() as AddressInfo).port}`,
    S3_BUCKET: 'exports',
    S3_ACCESS_KEY: 'access',
    S3_SECRET_KEY: 'secret',
    S3_CA_FILE: caFile,
  }
}

export interface RecordedRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
}

/** Records requests and forwards them. `fault` returns true for no response, or the status to respond with. */
export async function startRecorder(
  t: Test,
  store: S3Environment,
  fault: (request: RecordedRequest) => boolean | number = () => false,
) {
  const requests: RecordedRequest[] = []
  const connections = new Set<Socket>()
  const agent = new https.Agent({ ca: await readFile(store.S3_CA_FILE) })
  const env = await startTlsServer(t, (request, response) => {
    const { method = '', url = '', headers } = request
    const recorded = { method, url, headers }
    requests.push(recorded)
    connections.add(request.socket)
    const answer = fault(recorded)
    if (answer === true) return
    if (answer !== false) return void response.writeHead(answer).end('busy')
    // The signature covers the Host header, which still names this server. The store accepts any host.
    const passed = https.request(store.S3_ENDPOINT + url, { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  return { requests, connections, env: { ...store, S3_ENDPOINT: env.S3_ENDPOINT, S3_CA_FILE: env.S3_CA_FILE } }
}

const keyHeader = 'x-amz-server-side-encryption-customer-key'

/** A small S3 with one bucket, any region and no lists. `lost`: it forgets the key that an object was stored with. */
export function createFakeS3({ ssec }: { ssec: 'kept' | 'ignored' | 'refused' | 'lost' }): RequestListener {
  const objects = new Map<string, { content: Buffer; key: unknown }>()
  return async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const answer = (status: number, body: string | Buffer = '') => response.writeHead(status).end(body)
    const { url = '', headers } = request
    const key = ssec === 'kept' ? headers[keyHeader] : undefined
    if (url.endsWith('?location')) return answer(200, '<LocationConstraint/>')
    if (request.method === 'PUT') {
      if (ssec === 'refused' && headers[keyHeader]) return answer(403, refusal('AccessDenied', 'Access Denied'))
      objects.set(url, { content: Buffer.concat(chunks), key: ssec === 'lost' ? ssec : key })
      return answer(200)
    }
    if (request.method === 'DELETE') {
      objects.delete(url)
      return answer(204)
    }
    const object = objects.get(url)
    if (!object) return answer(404, refusal('NoSuchKey', 'The specified key does not exist.'))
    return object.key === key ? answer(200, object.content) : answer(403, refusal('AccessDenied', 'Access Denied'))
  }
}

export function refusal(code: string, message: string, more = ''): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message>${more}</Error>`
}
