import fc from 'fast-check'
import { history, listed } from './history.ts'
import { by, calls, get, id, login, query, send } from './requests.ts'
import type { Choices, Step } from './steps.ts'
import { api, broken, change, content, devices, ids, importBookmark, mix, oddText, some, stamps } from './values.ts'

const dayMs = 86_400_000
const list = (element: fc.Arbitrary<object>) => fc.array(element, { maxLength: 6, size: 'max' })

const page = query({
  page: mix<unknown>([8, fc.constantFrom(1, 1, 2, 3)], [1, oddText], [1, fc.constantFrom(1_000_000, 1_000_001)]),
  limit: mix<unknown>([8, fc.constantFrom(1, 2, 3, 4)], [1, oddText], [1, fc.constantFrom(1000, 1001)]),
})
const contents = mix<object>([10, content], [1, broken(content)])
const named = fc.tuple(some(ids), content).map(([id, content]) => ({ id, ...content }))
const pathOfBookmark = id.map((id) => `${api}/bookmarks/${id}`)
const bookmarks: Choices = [
  [4, get(page.map((page) => `${api}/bookmarks${page}`))],
  [2, get(pathOfBookmark)],
  [5, send('POST', `${api}/bookmarks`, mix<object>([3, contents], [7, named]))],
  [3, send('PUT', pathOfBookmark, contents)],
  [2, send('DELETE', pathOfBookmark)],
]

const changes = mix([12, list(change)], [1, list(mix([1, change], [1, broken(change)]))])
const push = send('POST', `${api}/sync/push`, fc.record({ changes }))
const imported = list(mix<object>([12, importBookmark], [1, broken(importBookmark)]))
const importing = send('POST', `${api}/sync/import`, fc.record({ bookmarks: imported }))
const limit = some(fc.constantFrom(1, 2, 3, 10_000))
const pull = send('POST', `${api}/sync/pull`, fc.record({ since: some(stamps), limit }, { requiredKeys: [] }))
const pullAll = calls(
  fc.constantFrom(1, 2, 3).map((limit) => ({
    do: 'pull all',
    method: 'POST',
    path: `${api}/sync/pull`,
    body: { since: '(cursor)', limit },
  })),
)
const sync: Choices = [
  [3, get(`${api}/sync/status`)],
  [4, pull],
  [2, pullAll],
  [8, push],
  [3, importing],
]

/** Around the end of sessions and exports, and of what a sweep removes. */
const moments = [0, 60_000, ...[1, 7, 30, 90, 400].map((days) => days * dayMs)]
const around = (moments: number[]) =>
  fc
    .tuple(fc.constantFrom(...moments), fc.constantFrom(-1, 0, 1))
    .map(([moment, more]): Step => ({ do: 'set clock', ms: moment + more }))
const setClock = around(moments)
const signIn = fc.record({ do: fc.constant('sign in' as const), by, login })

const exportId = mix([8, fc.constantFrom('(2)', '(2)', '(3)', '(4)')], [1, id])
const pathOfExport = exportId.map((id) => `${api}/exports/${id}`)
const range = fc.constantFrom('bytes=0-31', 'bytes=5-', 'bytes=-7', 'bytes=100000-', 'bytes=9-2', 'x')
const ranged = fc.tuple(pathOfExport, range).map(([path, range]) => ({ method: 'GET', path, headers: { range } }))
const createExport = send('POST', `${api}/exports`)
const listExports = get(`${api}/exports`)
const finishExports = fc.constant<Step>({ do: 'finish exports' })
const exports: Choices = [
  [2, createExport],
  [2, finishExports],
  [2, fc.tuple(createExport, finishExports)],
  [1, fc.tuple(createExport, createExport, createExport, createExport)],
  [2, listExports],
  [2, fc.tuple(around([7 * dayMs]), signIn, listExports, around([0]))],
  [4, get(pathOfExport)],
  [1, calls(ranged)],
  [1, send('DELETE', pathOfExport)],
  [1, get(exportId.map((id) => `${api}/account/export-key?export=${id}`))],
]

const keyring = some(fc.constantFrom('k1', "k'2", '~'.repeat(16_384)))
const revision = some(fc.constantFrom(1, 1, 2, 3))
const key = some(fc.constantFrom('A', 'B', 'z').map((letter) => `${letter.repeat(42)}A=`))
const account: Choices = [
  [1, get(`${api}/account/keyring`)],
  [4, send('PUT', `${api}/account/keyring`, fc.record({ keyring, revision }))],
  [1, get(`${api}/account/export-key`)],
  [1, send('PUT', `${api}/account/export-key`, fc.record({ key }))],
  [1, get(`${api}/account`)],
  [2, listed(`${api}/account/devices`)],
  [
    1,
    send(
      'DELETE',
      devices.map((id) => `${api}/account/devices/${encodeURIComponent(id)}`),
    ),
  ],
]

const refresh = fc
  .constantFrom('refresh' as const, 'both' as const)
  .map((cookie) => ({ method: 'POST', path: `${api}/auth/refresh`, cookie }))
const auth: Choices = [
  [2, get(`${api}/auth/session`)],
  [2, calls(refresh)],
  [1, send('POST', `${api}/auth/logout`)],
  [1, send('DELETE', `${api}/account/sessions`)],
  [1, signIn],
]

const sweep = fc.constant<Step>({ do: 'sweep' })
const time: Choices = [
  [2, setClock],
  [2, fc.tuple(setClock, signIn)],
  [2, fc.tuple(setClock, sweep)],
]

const themes = [
  [...bookmarks, ...sync, ...exports, ...account, ...auth, ...time],
  [...bookmarks, ...sync],
  [...history, ...bookmarks, ...sync],
  [...history, ...sync, ...time],
  [...sync, ...time],
  [...bookmarks, ...exports, ...account],
  [...exports, ...exports, ...sync, ...time],
  [...bookmarks, ...auth, ...time],
]
const beginning = fc.array(mix([1, push], [1, importing]), { maxLength: 2 })
const middle = themes.map((choices) => fc.array(mix(...choices), { minLength: 1, maxLength: 12, size: 'max' }))

/** What two people do from several devices each: mostly in one part of the service, after something is stored. */
export const script: fc.Arbitrary<Step[]> = fc.tuple(beginning, fc.oneof(...middle)).map((parts) => parts.flat(2))
