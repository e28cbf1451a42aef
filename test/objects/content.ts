import { buffer } from 'node:stream/consumers'
import type { StoredObject } from '../../src/service/objects/store.ts'

export async function read({ body }: StoredObject): Promise<Buffer> {
  return buffer(body)
}

export async function* pieces(content: Buffer, length = 65_568): AsyncGenerator<Buffer> {
  for (let start = 0; start < content.length; start += length) yield content.subarray(start, start + length)
}
