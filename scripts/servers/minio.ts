import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'minio'
import { makeCertificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { findMinio } from './minio-binary.ts'
import { type TetheredServer, tethered } from './tethered.ts'

/** After `stop`, it can start again with the same port and data. */
export interface MinioServer extends TetheredServer {
  /** https://localhost:PORT */
  endpoint: string
  accessKey: string
  secretKey: string
  /** The self-signed certificate. */
  caFile: string
  /** The folder of the stored objects. */
  dataDir: string
  createBucket(): Promise<S3Environment>
  /** Stops the server and removes its data. */
  close(): Promise<void>
}

export type S3Environment = Record<
  'S3_ENDPOINT' | 'S3_BUCKET' | 'S3_ACCESS_KEY' | 'S3_SECRET_KEY' | 'S3_CA_FILE',
  string
>

/** Starts a MinIO server on a free port, with its own folder and certificate. */
export async function startMinio(): Promise<MinioServer> {
  const binary = await findMinio()
  const folder = await mkdtemp(join(tmpdir(), 'ebs-minio-'))
  const [dataDir, certificates] = [join(folder, 'data'), join(folder, 'certs')]
  const [accessKey, secretKey] = ['ebs', randomBytes(18).toString('base64url')]
  const { caFile } = await makeCertificate(certificates)
  const ca = await readFile(caFile)
  const port = await freePort()
  const endpoint = `https://localhost:${port}`
  const login = { MINIO_ROOT_USER: accessKey, MINIO_ROOT_PASSWORD: secretKey }
  const running = tethered(
    [binary, 'server', '--quiet', '--address', `:${port}`, '--certs-dir', certificates, dataDir],
    {
      lastSignal: 'KILL',
      isReady: () => answers(`${endpoint}/minio/health/cluster`, ca),
      env: { PATH: process.env.PATH, HOME: folder, ...login, MINIO_BROWSER: 'off', MINIO_UPDATE: 'off' },
    },
  )
  async function close(): Promise<void> {
    await running.stop()
    await rm(folder, { recursive: true, force: true })
  }

  try {
    await running.start()
  } catch (error) {
    await close()
    throw error
  }
  const server = { endpoint, accessKey, secretKey, caFile, dataDir }
  return { ...server, createBucket: () => makeBucket(server), ...running, close }
}

type BucketPlace = Pick<MinioServer, 'endpoint' | 'accessKey' | 'secretKey' | 'caFile'>

/** Makes a bucket. Returns the environment variables with which the service uses it. */
export async function makeBucket({ endpoint, accessKey, secretKey, caFile }: BucketPlace): Promise<S3Environment> {
  const bucket = `ebs-${randomBytes(6).toString('hex')}`
  const keys = { S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey }
  const env = { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, ...keys, S3_CA_FILE: caFile }
  await (await openClient(env)).makeBucket(bucket)
  return env
}

/** A client that has the store's credentials, but not the keys of the objects, like the store's operator. */
export async function openClient(env: S3Environment): Promise<Client> {
  return new Client({
    endPoint: 'localhost',
    port: Number(new URL(env.S3_ENDPOINT).port),
    useSSL: true,
    accessKey: env.S3_ACCESS_KEY,
    secretKey: env.S3_SECRET_KEY,
    transportAgent: new Agent({ ca: await readFile(env.S3_CA_FILE) }),
  })
}

function answers(url: string, ca: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { ca, agent: false }, (response) => resolve(response.resume().statusCode === 200))
    request.on('error', () => resolve(false))
  })
}
