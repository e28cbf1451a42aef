import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ClientRequest } from 'node:http'
import https from 'node:https'
import { Client, type ClientOptions } from 'minio'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { isOutage } from './s3-errors.ts'
import { ObjectStoreUnavailableError } from './store.ts'

export type S3Config = NonNullable<Config['s3']>

export interface S3 {
  bucket: string
  client: Client
  /** A client whose requests end with the signal. */
  clientUntil(signal: AbortSignal): Client
  close(): void
}

/** For a connection, and between any two signs of life until the answer is there. Bodies of objects have no limit. */
const silentMs = 10_000

/** Prepares clients that share their connections; nothing is sent yet. */
export async function connectS3(config: S3Config): Promise<S3> {
  const ca = config.caFile === undefined ? undefined : await readCertificates(config.caFile)
  const agent = new https.Agent({ keepAlive: true, ...(ca && { ca }) })
  const client = openClient(config, agent)
  return {
    bucket: config.bucket,
    client,
    // The region may have been asked for since.
    clientUntil: (signal) => openClient({ ...config, region: client.region }, agent, signal),
    close: () => agent.destroy(),
  }
}

function openClient(config: S3Config, agent: https.Agent, signal?: AbortSignal): Client {
  const { hostname, port } = new URL(config.endpoint)
  try {
    return new Client({
      endPoint: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? 443 : Number(port),
      useSSL: true,
      accessKey: config.accessKey,
      secretKey: config.secretKey,
      transport: createTransport(signal),
      transportAgent: agent,
      // It would write to the console, and leave the answers it tries again unread, which holds their connections.
      retryOptions: { disableRetry: true },
      ...(config.region && { region: config.region }),
    })
  } catch (error) {
    throw new ConfigError(`S3_ENDPOINT: ${(error as Error).message}`)
  }
}

/** The client's requests, with an end: of their own, they wait for ever. */
function createTransport(signal: AbortSignal | undefined): NonNullable<ClientOptions['transport']> {
  const send: typeof https.request = (options, onAnswer): ClientRequest => {
    const limits = { timeout: silentMs, ...(signal && { signal }) }
    const request = https.request({ ...(options as https.RequestOptions), ...limits }, (answer) => {
      if (!isOutage(answer.statusCode)) return (onAnswer as (message: typeof answer) => void)(answer)
      answer.resume()
      request.emit('error', new ObjectStoreUnavailableError(`the object store answers ${answer.statusCode}`))
    })
    request.on('timeout', () => request.destroy(new ObjectStoreUnavailableError('the object store does not answer')))
    return request
  }
  return { request: send as typeof import('node:http').request }
}

async function readCertificates(file: string): Promise<Buffer> {
  try {
    const ca = await readFile(file)
    // Node passes over what it cannot read.
    new X509Certificate(ca)
    return ca
  } catch (error) {
    throw new ConfigError(`S3_CA_FILE: ${file} is no readable certificate in PEM (${(error as Error).message})`)
  }
}
