import assert from 'node:assert/strict'
import { Api, type Change, EntityType, Operation } from './client'
import type { Edit, Laptop } from './story'

const client = new Api<string>({
  baseUrl: process.env.BASE_URL ?? '',
  baseApiParams: { headers: { authorization: `Bearer ${process.env.SESSION}`, 'x-device-id': 'laptop' } },
  securityWorker: (userId) => (userId === null ? {} : { headers: { 'x-user-id': userId } }),
})
const { api } = client
const data = async <Body>(call: Promise<{ data: Body }>) => (await call).data
const withEnums = (edit: Edit): Change => ({ ...edit, entity_type: EntityType.Bookmark, operation: Operation.Update })

export const laptop: Laptop = {
  createBookmark: (bookmark) => data(api.createBookmark(bookmark)),
  listBookmarks: (query) => data(api.listBookmarks(query)),
  getBookmark: (id) => data(api.getBookmark(id)),
  deleteBookmark: (id) => data(api.deleteBookmark(id)),
  pushChanges: (edits) => data(api.pushChanges({ changes: edits.map(withEnums) })),
  pullChanges: (body) => data(api.pullChanges(body)),
  importBookmarks: (bookmarks) => data(api.importBookmarks({ bookmarks })),
  createExport: () => data(api.createExport()),
  listExports: () => data(api.listExports()),
  downloadExport: (id) => data(api.downloadExport(id, { format: 'blob' })),
  getSyncStatus: () => data(api.getSyncStatus()),
  getSession: () => data(api.getSession()),
  logout: () => data(api.logout()),
  actFor: client.setSecurityData,
  async refused(call) {
    const asked: Promise<unknown> = call === 'getBookmark' ? api.getBookmark('nothing') : api.getSession()
    const answer = await asked.catch((reason: unknown) => reason)
    assert(answer instanceof Response && 'error' in answer)
    return [answer.status, answer.error]
  },
}
