import fc from 'fast-check'
import { get, id, query, send } from './requests.ts'
import { type Choices, start } from './steps.ts'
import { api, eventIds, ids, mix, oddText, some, stamps } from './values.ts'

const pathOfBookmark = id.map((id) => `${api}/bookmarks/${id}`)
const paged = query({
  limit: mix<unknown>([8, fc.constantFrom(1, 2, 3)], [1, oddText]),
  after: mix<unknown>(
    [6, fc.integer({ min: start - 1, max: start + 20 })],
    [1, ids.map(encodeURIComponent)],
    [1, oddText],
  ),
})
/** A list that comes in pages. */
export const listed = (path: fc.Arbitrary<string> | string) =>
  get(fc.tuple(typeof path === 'string' ? fc.constant(path) : path, paged).map((parts) => parts.join('')))
const restored = mix<object>([2, fc.constant({})], [3, fc.record({ version_id: some(eventIds) })])
const cursor = fc.tuple(fc.constantFrom('bookmark', 'group', 'history', 'x'), ids).map((parts) => parts.join('/'))
const rewound = fc.record(
  { to: some(stamps), dry_run: some(fc.boolean()), cursor },
  { requiredKeys: ['to', 'dry_run'] },
)
const deletion = send('DELETE', pathOfBookmark)
export const history: Choices = [
  [4, listed(pathOfBookmark.map((path) => `${path}/versions`))],
  [
    5,
    send(
      'POST',
      pathOfBookmark.map((path) => `${path}/restore`),
      restored,
    ),
  ],
  [3, listed(`${api}/trash`)],
  [2, fc.tuple(deletion, listed(`${api}/trash`))],
  [
    2,
    send(
      'DELETE',
      id.map((id) => `${api}/trash/${id}`),
    ),
  ],
  [3, listed(`${api}/sync/conflicts`)],
  [
    2,
    send(
      'DELETE',
      mix([5, eventIds], [1, id]).map((id) => `${api}/sync/conflicts/${id}`),
    ),
  ],
  [3, send('POST', `${api}/sync/rewind`, rewound)],
]
