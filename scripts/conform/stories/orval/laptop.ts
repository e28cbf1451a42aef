/** The calls of the story, by the code that orval and kubb generate. */
import assert from 'node:assert/strict'
import * as api from './client'
import { actFor } from './send'
import type { Laptop } from './story'

type DataOf<Answer, Status> = Answer extends { status: infer S; data: infer D } ? (Status extends S ? D : never) : never

async function data<Answer extends { status: number; data: unknown }, const Status extends number>(
  call: Promise<Answer>,
  status: Status,
): Promise<DataOf<Answer, Status>> {
  const answer = await call
  assert.equal(answer.status, status)
  return answer.data as DataOf<Answer, Status>
}

export const laptop: Laptop = {
  createBookmark: (bookmark) => data(api.createBookmark(bookmark), 201),
  listBookmarks: (query) => data(api.listBookmarks(query), 200),
  getBookmark: (id) => data(api.getBookmark(id), 200),
  deleteBookmark: (id) => data(api.deleteBookmark(id), 200),
  pushChanges: (changes) => data(api.pushChanges({ changes }), 200),
  pullChanges: (body) => data(api.pullChanges(body), 200),
  importBookmarks: (bookmarks) => data(api.importBookmarks({ bookmarks }), 200),
  createExport: () => data(api.createExport(), 201),
  listExports: () => data(api.listExports(), 200),
  downloadExport: (id) => data(api.downloadExport(id), 200),
  getSyncStatus: () => data(api.getSyncStatus(), 200),
  getSession: () => data(api.getSession(), 200),
  logout: () => data(api.logout(), 200),
  actFor,
  async refused(call) {
    const { status, data } = await (call === 'getBookmark' ? api.getBookmark('nothing') : api.getSession())
    return [status, data]
  },
}
