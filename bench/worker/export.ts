import { setTimeout as sleep } from 'node:timers/promises'
import { operations } from '../../generated/operations.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { type Account, get } from './apis/api.ts'
import { connect, secondsOf } from './http.ts'

const everyMs = 20

/** Bookmarks a second, from the request to the complete file, which is then removed. */
export async function exportAll(account: Account, bookmarks: number): Promise<number> {
  const server = connect(account.origin, 1)
  const { createExport, listExports } = operations
  const seconds = await secondsOf(async () => {
    const created: Schemas['Export'] = JSON.parse(
      await server.text({ ...get(account, createExport.path), method: 'POST' }),
    )
    for (; ; await sleep(everyMs)) {
      const { exports }: Schemas['ExportList'] = JSON.parse(await server.text(get(account, listExports.path)))
      const { status, bookmark_count } = exports.find(({ id }) => id === created.id) ?? created
      if (status === 'completed' && bookmark_count === bookmarks) return
      if (status === 'completed' || status === 'failed') throw new Error(`${status}, with ${bookmark_count} bookmarks`)
    }
  })
  const { exports }: Schemas['ExportList'] = JSON.parse(await server.text(get(account, listExports.path)))
  for (const { id } of exports) await server.end({ ...get(account, `${listExports.path}/${id}`), method: 'DELETE' })
  await server.close()
  return bookmarks / seconds
}
