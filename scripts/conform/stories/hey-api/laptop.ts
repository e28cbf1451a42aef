import * as api from './client'
import { client } from './client/client.gen'
import type { Laptop } from './story'

const baseUrl = process.env.BASE_URL ?? ''
let user: string | undefined
// A function: a string would be sent in every header that the contract names as credentials, also in X-User-ID.
const auth = ({ name }: { name?: string }) => (name === 'X-User-ID' ? user : process.env.SESSION)
client.setConfig({ baseUrl, auth, headers: { 'x-device-id': 'laptop' } })
const throwOnError = true
const data = async <Body>(call: Promise<{ data: Body }>) => (await call).data

export const laptop: Laptop = {
  createBookmark: (body) => data(api.createBookmark({ body, throwOnError })),
  listBookmarks: (query) => data(api.listBookmarks({ query, throwOnError })),
  getBookmark: (id) => data(api.getBookmark({ path: { id }, throwOnError })),
  deleteBookmark: (id) => data(api.deleteBookmark({ path: { id }, throwOnError })),
  pushChanges: (changes) => data(api.pushChanges({ body: { changes }, throwOnError })),
  pullChanges: (body) => data(api.pullChanges({ body, throwOnError })),
  importBookmarks: (bookmarks) => data(api.importBookmarks({ body: { bookmarks }, throwOnError })),
  createExport: () => data(api.createExport({ throwOnError })),
  listExports: () => data(api.listExports({ throwOnError })),
  downloadExport: (id) => data(api.downloadExport({ path: { id }, throwOnError, parseAs: 'blob' })),
  getSyncStatus: () => data(api.getSyncStatus({ throwOnError })),
  getSession: () => data(api.getSession({ throwOnError })),
  logout: () => data(api.logout({ throwOnError })),
  actFor(userId) {
    user = userId
  },
  async refused(call) {
    const nothing = { path: { id: 'nothing' } }
    const { response, error } = await (call === 'getBookmark' ? api.getBookmark(nothing) : api.getSession())
    return [response?.status, error]
  },
}
