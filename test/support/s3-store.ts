import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { readConfig } from '../../src/service/config/config.ts'
import { openObjectStore } from '../../src/service/objects/open.ts'
import type { ObjectStore, StoredObject } from '../../src/service/objects/store.ts'
import { silent } from './log.ts'

export async function openStore(t: Test, env: Record<string, string>): Promise<ObjectStore> {
  const store = await openObjectStore(readConfig(env), silent)
  t.teardown(() => store.close())
  return store
}

export async function read({ body }: StoredObject): Promise<Buffer> {
  return buffer(body)
}

export async function* pieces(content: Buffer, length = 65_568): AsyncGenerator<Buffer> {
  for (let start = 0; start < content.length; start += length) yield content.subarray(start, start + length)
}
