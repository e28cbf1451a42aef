import { setTimeout as sleep } from 'node:timers/promises'
import type { components } from '../../generated/openapi.ts'
import type { OpenedExport } from '../../src/client/bookmark.ts'
import { openExport } from '../../src/client/export-file.ts'
import { Difference, expectEqual } from './compare.ts'
import type { Device } from './device.ts'

type Export = components['schemas']['Export']

const makeWithinMs = 120_000

/** Has an export made and waits until it can be downloaded. */
export async function makeExport({ api }: Device): Promise<Export> {
  const { id } = await api.call('createExport')
  const until = Date.now() + makeWithinMs
  while (Date.now() < until) {
    const { exports } = await api.call('listExports')
    const made = exports.find((item) => item.id === id)
    if (made?.status === 'completed') return made
    if (made?.status !== 'pending' && made?.status !== 'processing') {
      throw new Difference(`The export is ${made?.status ?? 'gone'}`)
    }
    await sleep(50)
  }
  throw new Difference(`The export was not completed within ${makeWithinMs} ms`)
}

/** Downloads an export and opens it as it arrives: everything in it is genuine and complete, or this throws. */
export async function openBackup({ api, keys }: Device, { id, bookmark_count }: Export): Promise<OpenedExport> {
  const { body } = await api.download('downloadExport', { path: { id } })
  if (!body) throw new Difference('The download has no body')
  const opened = await openExport(body, { exportKey: keys.exportKey, keys })
  expectEqual('bookmark_count', opened.bookmark_count, bookmark_count)
  return opened
}
