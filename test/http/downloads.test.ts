import t from 'tap'
import { breakDatabase } from '../realtime/broken-database.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { openEndlessExports } from './downloads.ts'
import { openUnread } from './unread.ts'

t.test('A user has 8 downloads under way at most, a process 64; none of those refused opens a file', async (t) => {
  const app = await buildApp(t)
  const { scrape } = openAdmin(t, app)
  const origin = await app.listen()
  const ada = await app.user('ada')
  const { make, openFiles } = openEndlessExports(app)
  const path = await make(ada)
  const begin = () => Promise.all(Array.from({ length: 20 }, () => openUnread(t, origin, ada, path)))
  const downloads = await begin()
  t.same(downloads.map(({ status }) => status).sort(), [...Array(8).fill(200), ...Array(12).fill(503)])
  t.equal(openFiles(), 8)
  t.equal((await scrape()).value('ebs_http_downloads'), 8)
  t.match(await ada.call('GET', path), {
    status: 503,
    body: { error: 'Service unavailable' },
    headers: { 'retry-after': '1' },
  })
  t.equal((await ada.call('GET', '/api/v1/exports')).status, 200, 'everything else is served')

  const others = ['bob', 'eve', 'joe', 'kim', 'lea', 'max', 'ned', 'pat']
  for (const name of others) {
    const user = await app.user(name)
    const own = await make(user)
    for (let count = 0; count < 8; count++) downloads.push(await openUnread(t, origin, user, own))
  }
  t.equal(openFiles(), 64)
  t.same(
    downloads.slice(-9).map(({ status }) => status),
    [200, ...Array(8).fill(503)],
  )

  for (const { abort } of downloads) abort()
  await until(() => openFiles() === 0 && app.context.downloads.held() === 0)
  t.match(app.log.join(''), /too many downloads under way/)
})

t.test('A download whose login cannot be looked up gets 503, and its file is closed', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  const { make, openFiles } = openEndlessExports(app)
  const path = await make(ada)
  const { database, objects } = app.context
  const { get } = objects
  let mend = () => {}
  objects.get = async (...object) => {
    const found = await get(...object)
    mend = breakDatabase(database)
    return found
  }
  const { status } = await ada.call('GET', path)
  mend()
  t.same([status, openFiles()], [503, 0])
})
