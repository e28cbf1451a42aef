import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, type components, type Keys, openExport, unwrap } from '../../src/client/index.ts'
import { expectEqual } from './compare.ts'

type Export = components['schemas']['Export']

const makeWithinMs = 120_000

/** Has an export made and waits until it can be downloaded. */
export async function makeExport(client: Client): Promise<Export> {
  const { id } = unwrap(await client.POST('/api/v1/exports'))
  for (const until = Date.now() + makeWithinMs; Date.now() < until; await sleep(50)) {
    const made = unwrap(await client.GET('/api/v1/exports')).exports.find((one) => one.id === id)
    if (made?.status === 'completed') return made
    if (!made || made.status === 'failed') throw new Error(`The export is ${made?.status ?? 'gone'}`)
  }
  throw new Error(`The export was not completed within ${makeWithinMs} ms`)
}

/** Downloads an export and opens it as it arrives: everything in it is genuine and complete, or this throws. */
export async function openBackup(client: Client, keys: Keys, { id, bookmark_count }: Export) {
  const download = await client.GET('/api/v1/exports/{id}', { params: { path: { id } }, parseAs: 'stream' })
  const opened = await openExport(unwrap(download), { exportKey: keys.exportKey, keys })
  expectEqual('bookmark_count', opened.bookmark_count, bookmark_count)
  return opened
}
