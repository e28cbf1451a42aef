import t from 'tap'
import { allOperations, furnish } from '../hostile/requests.ts'
import { buildApp } from '../support/app.ts'

const atOnce = 48
/** So many requests begin in a turn of the event loop, before and after what is counted; each looks up its session. */
const mostBegun = 2 * 16
const readsAtOnce = 2
/** A probe or a note of somebody's last use. */
const others = 4

const app = await buildApp(t)
const { context, user } = app
const ada = await user('ada')
const statements = () => context.database.queries().count
const notHere = ['downloadExport', 'openRealtime']
const readingPosts = ['pullChanges', 'rewindBookmarks']
const reads = allOperations(await furnish(ada, 'ada')).filter(
  ({ operationId, method, security }) =>
    security === 'sessionCookie' &&
    (method === 'GET' ? !notHere.includes(operationId) : readingPosts.includes(operationId)),
)

/** The most statements that are answered between two turns of the event loop while `work` goes on. */
async function mostInATurn(work: () => Promise<unknown>): Promise<number> {
  let [most, before] = [0, statements()]
  let turn = setImmediate(function next() {
    most = Math.max(most, statements() - before)
    before = statements()
    turn = setImmediate(next)
  })
  await work()
  clearImmediate(turn)
  return Math.max(most, statements() - before)
}

t.test('Every operation that reads is here', async (t) => {
  t.ok(reads.length >= 12, reads.map(({ operationId }) => operationId).join())
})

for (const { operationId, method, path, body } of reads) {
  t.test(`${operationId}: of ${atOnce} at once of one user, two read in a turn of the event loop`, async (t) => {
    const request = body ? { body: { ...body, ...('dry_run' in body && { dry_run: true }) } } : {}
    const read = () => ada.call(method, path, request)
    await read()
    const before = statements()
    await read()
    const ofOne = statements() - before - 1
    const most = await mostInATurn(async () => {
      const answers = await Promise.all(Array.from({ length: atOnce }, read))
      t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
    })
    // A pull looks before its turn whether there is anything.
    const looks = operationId === 'pullChanges' ? mostBegun : 0
    t.ok(
      most - looks <= mostBegun + 2 * readsAtOnce * ofOne + others,
      `${most} statements in a turn; a request has ${ofOne} beside its session's`,
    )
  })
}
