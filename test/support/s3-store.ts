import { readFile } from 'node:fs/promises'
import https from 'node:https'
import { buffer } from 'node:stream/consumers'
import { Client } from 'minio'
import type { Test } from 'tap'
import type { S3Environment } from '../../scripts/servers/minio.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { openObjectStore } from '../../src/service/objects/open.ts'
import type { ObjectStore, StoredObject } from '../../src/service/objects/store.ts'
import { silent } from './log.ts'

export async function openS3(t: Test, env: Record<string, string>): Promise<ObjectStore> {
  const store = await openObjectStore(readConfig(env), silent)
  t.teardown(() => store.close())
  return store
}

/** A client with only the store's credentials, as its operator has them. */
export async function openClient(env: S3Environment): Promise<Client> {
  return new Client({
    endPoint: 'localhost',
    port: Number(new URL(env.S3_ENDPOINT).port),
    useSSL: true,
    accessKey: env.S3_ACCESS_KEY,
    secretKey: env.S3_SECRET_KEY,
    transportAgent: new https.Agent({ ca: await readFile(env.S3_CA_FILE) }),
  })
}

export async function read({ body }: StoredObject): Promise<Buffer> {
  return buffer(body)
}

export async function* pieces(content: Buffer, length = 65_568): AsyncGenerator<Buffer> {
  for (let start = 0; start < content.length; start += length) yield content.subarray(start, start + length)
}
