import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'minio'
import { makeCertificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { findMinio } from './minio-binary.ts'
import { spawnTethered } from './tethered.ts'

const readyWithinMs = 30_000
export interface MinioServer {
  /** https://localhost:PORT */
  endpoint: string
  accessKey: string
  secretKey: string
  /** The certificate, which signs itself. */
  caFile: string
  /** Where the server keeps objects. */
  dataDir: string
  /** Makes a bucket; gives the variables under which the service uses it. */
  createBucket(): Promise<S3Environment>
  /** Kills the server; its data stay. */
  stop(): Promise<void>
  /** Starts it again, on the same port and data. */
  start(): Promise<void>
  /** Stops it and removes its data. */
  close(): Promise<void>
}

export type S3Environment = Record<
  'S3_ENDPOINT' | 'S3_BUCKET' | 'S3_ACCESS_KEY' | 'S3_SECRET_KEY' | 'S3_CA_FILE',
  string
>

/** A MinIO server on a free port, a folder of its own and a certificate of its own. */
export async function startMinio(): Promise<MinioServer> {
  const binary = await findMinio()
  const folder = await mkdtemp(join(tmpdir(), 'ebs-minio-'))
  const dataDir = join(folder, 'data')
  const [accessKey, secretKey] = ['ebs', randomBytes(18).toString('base64url')]
  const { caFile } = await makeCertificate(join(folder, 'certs'))
  const ca = await readFile(caFile)
  const port = await freePort()
  const endpoint = `https://localhost:${port}`
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    if (child) return
    const args = ['server', '--quiet', '--address', `:${port}`, '--certs-dir', join(folder, 'certs'), dataDir]
    const env = { PATH: process.env.PATH, HOME: folder, MINIO_ROOT_USER: accessKey, MINIO_ROOT_PASSWORD: secretKey }
    child = spawnTethered([binary, ...args], 'KILL', { env: { ...env, MINIO_BROWSER: 'off', MINIO_UPDATE: 'off' } })
    await ready(endpoint, ca)
  }
  async function stop(): Promise<void> {
    const running = child
    child = undefined
    if (!running) return
    running.stdin?.end()
    await once(running, 'exit')
  }

  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await start()
  } catch (error) {
    await stop()
    await remove()
    throw error
  }
  const transportAgent = new Agent({ ca })
  const client = new Client({ endPoint: 'localhost', port, useSSL: true, accessKey, secretKey, transportAgent })
  return {
    endpoint,
    accessKey,
    secretKey,
    caFile,
    dataDir,
    async createBucket() {
      const bucket = `ebs-${randomBytes(6).toString('hex')}`
      await client.makeBucket(bucket)
      return {
        S3_ENDPOINT: endpoint,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY: accessKey,
        S3_SECRET_KEY: secretKey,
        S3_CA_FILE: caFile,
      }
    },
    stop,
    start,
    async close() {
      await stop()
      await remove()
    },
  }
}

async function ready(endpoint: string, ca: Buffer): Promise<void> {
  const end = Date.now() + readyWithinMs
  while (!(await answers(`${endpoint}/minio/health/ready`, ca))) {
    if (Date.now() > end) throw new Error('MinIO does not become ready')
    await sleep(50)
  }
}

function answers(url: string, ca: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { ca, agent: false }, (response) => resolve(response.resume().statusCode === 200))
    request.on('error', () => resolve(false))
  })
}
