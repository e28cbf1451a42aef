/** Tab groups and history in the worker: they are off until a person turns them on, and can be erased. */
import t from 'tap'
import { abortable } from '../../src/client/timing/clock.ts'
import { until } from '../support/until.ts'
import { HistoryModel } from './history-model.ts'
import { install, openElsewhere, readVisits, storedIn, withHistory } from './worker-device.ts'

t.test(
  'The browsing history is off until it is turned on, found in the address bar, and erased when its person says so',
  async (t) => {
    const installed = await install(t)
    const history = new HistoryModel('chrome')
    installed.history = history
    const page = 'https://visited.example/'
    // A minute ago, because younger visits are not stored yet.
    history.visit(page, { title: 'Visited & found', visitTime: Date.now() - 60_000 })
    history.visit('https://odd.example/', { title: 'A\u0000b\u001b<c\ud800\ufffe', visitTime: Date.now() - 60_000 })
    installed.model.create({ parentId: '1', title: 'Marked', url: 'https://marked.example/' })
    installed.run()
    await installed.shows('In step')
    installed.happens('alarm')
    t.same([(await installed.ask({ ask: 'visits' })).visits, await installed.type('visited')], [undefined, []])
    t.same(await installed.type('marked'), ['https://marked.example/'])
    const { visits } = await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
    t.match(visits, { keptDays: 90, count: 0, isCleared: false })
    await installed.stores(2)
    t.equal((installed.alarms.get('visits')?.when ?? 1) % 60_000, 0, 'the service does not learn the second of a visit')
    t.same(await installed.type('found visited'), [page])
    t.same(installed.described, ['Visited &#38; found · https://visited.example/'])
    await installed.type('odd')
    t.same(installed.described, ['A b &#60;c   · https://odd.example/'])
    const found = await installed.ask({ ask: 'visits', act: { do: 'find', words: 'FOUND' } })
    t.match(found.visits?.pages, [{ url: page, title: 'Visited & found' }])
    installed.history = undefined
    installed.happens('forbidden')
    await until(async () => (await installed.ask({ ask: 'visits' })).visits === undefined)
    t.same([await installed.type('visited'), (await readVisits(installed)).pages], [[], []], 'no address stays here')
    installed.history = history
    installed.happens('allowed')
    await until(async () => (await installed.ask({ ask: 'visits' })).visits?.count === 2)
    const { visits: paused } = await installed.ask({ ask: 'visits', act: { do: 'pause', forHours: 1 } })
    t.type(paused?.pausedUntil, 'number')
    history.clear()
    await until(async () => (await installed.ask({ ask: 'held' })).visits?.isCleared === true)
    await installed.ask({ ask: 'visits', act: { do: 'answer-cleared', everywhere: false } })
    t.match((await installed.ask({ ask: 'visits' })).visits, { count: 2, isCleared: false })
    history.visit(page, { visitTime: Date.now() })
    history.remove(page)
    // During the pause, the removal is not sent, but the page is no longer found.
    await until(async () => (await installed.type('found')).length === 0)
    t.match((await installed.ask({ ask: 'visits', act: { do: 'find', words: '' } })).visits, { pages: { length: 1 } })
    await installed.ask({ ask: 'visits', act: { do: 'change', keptDays: 30, sites: ['bank.example'] } })
    await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
    t.match(await readVisits(installed), { states: [{ sites: ['bank.example'] }], pages: [] })
    const again = await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
    t.match(again.visits, { keptDays: 30, sites: ['bank.example'] })
    t.equal(again.visits?.pausedUntil, undefined)
    installed.refuse = ({ url }) => (url.endsWith('/sync/push') ? new Response('', { status: 503 }) : undefined)
    const off = await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: true } })
    t.same([off.error, off.visits, installed.settings().visits], [undefined, undefined, false])
    t.equal(off.isErasureUnsent, true, 'the person learns that it is not erased elsewhere yet')
    t.same(await installed.type('visited'), [])
    installed.refuse = () => undefined
    await installed.ask({ ask: 'sync-now' })
    const elsewhere = openElsewhere(installed)
    await elsewhere.syncNow()
    t.same(
      [...elsewhere.history.records().values()].map(({ url }) => url),
      [undefined],
      'the time of that is left',
    )
  },
)

t.test('While the sync is paused, the browsing history can be turned off, and other actions fail', async (t) => {
  const { installed } = await withHistory(t, 'https://visited.example/')
  await installed.ask({ ask: 'pause' })
  for (const act of [
    { do: 'turn-off', erases: true },
    { do: 'pause' },
    { do: 'change', keptDays: 30, sites: ['bank.example'] },
  ] as const) {
    const { error } = await installed.ask({ ask: 'visits', act })
    t.equal(error?.message, 'Nothing was changed. Press “Resume” in the popup first', act.do)
  }
  t.equal(installed.settings().visits, true)
  const { error } = await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
  t.same([error, installed.settings().visits], [undefined, false])
  t.notMatch(await storedIn(installed.connection.userId), /visited\.example/)
  const { states, pages } = await readVisits(installed)
  const [{ pauses = [] } = {}] = states as { pauses?: { from: number; to?: number }[] }[]
  t.same(pages, [], 'no address stays here')
  t.ok(
    pauses.some(({ to }) => to === undefined),
    'what is visited from now on is never stored',
  )
})

for (const when of ['during a pause', 'and its worker is stopped', 'during a pause, and its worker is stopped'])
  t.test(`A feature that a person turns off in the browser leaves nothing in the extension: ${when}`, async (t) => {
    const { installed, history } = await withHistory(t, 'https://visited.example/')
    const { tabs, connection } = installed
    installed.seesTabs = true
    installed.happens('allowed')
    tabs.look(tabs.tabsOf(tabs.openGroup('', 'red', ['https://grouped.example/']))[0] as number)
    const save = { ask: 'groups', act: { do: 'save', what: 'group', title: 'Work' } } as const
    await until(async () => (await installed.ask(save)).groups?.list[0]?.tabs.length === 1)
    await until(async () => (await installed.state()).sync?.waiting === 0)
    await installed.ask({ ask: 'pause' })
    t.match(await storedIn(connection.userId), /visited\.example.*grouped\.example|grouped\.example.*visited\.example/)
    t.not(installed.settings().groups, undefined)

    Object.assign(installed, { seesTabs: false, history: undefined })
    installed.settings().isPaused = when.includes('pause')
    if (when.includes('stopped')) installed.run()
    else installed.happens('forbidden')
    await until(async () => !/visited|grouped/.test(await storedIn(connection.userId)))
    await until(() => installed.settings().groups === undefined)

    await installed.ask({ ask: 'resume' })
    await installed.shows('In step')
    installed.history = history
    installed.happens('allowed')
    await until(async () => (await installed.ask({ ask: 'visits' })).visits?.count === 1)
  })

t.test('A removal has the time of the service, whose clock is a day behind here', async (t) => {
  const page = 'https://visited.example/'
  const { installed, history } = await withHistory(t, page)
  const [{ visitTime = 0 } = {}] = history.pages.get(page)?.visits ?? []
  installed.refuse = (request) =>
    installed.connection.fetch(request).then((response) => {
      const { body, status } = response
      const headers = new Headers(response.headers)
      headers.set('date', new Date(Date.now() - 86_400_000).toUTCString())
      return new Response(body, { status, headers })
    })
  await installed.ask({ ask: 'sync-now' })
  history.remove(page)
  await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
  const elsewhere = openElsewhere(installed)
  await elsewhere.syncNow()
  const removals = [...elsewhere.history.records().values()].map(({ dateModified }) => dateModified)
  t.same(removals, [new Date(visitTime).toISOString()], 'not earlier than the visit that it knows')
})

t.test('After it is turned off, the history is not offered, and is deleted when its last visit is sent', async (t) => {
  const { installed, history } = await withHistory(t, 'https://visited.example/')
  const { userId } = installed.connection
  installed.refuse = ({ url }) => (url.endsWith('/sync/push') ? new Response('', { status: 503 }) : undefined)
  history.visit('https://unsent.example/', { title: 'Unsent', visitTime: Date.now() })
  await installed.passMinute(async () => (await installed.state()).sync?.waiting === 1)
  t.same(await installed.type('visited'), ['https://visited.example/'])
  await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
  await until(async () => (await installed.state()).sync?.waiting === 1)
  t.same(await installed.type('visited'), [])
  installed.refuse = () => undefined
  await installed.ask({ ask: 'sync-now' })
  t.notMatch(await storedIn(userId), /visited|unsent/)
})

const outages: [name: string, answer: () => Response | Promise<Response> | undefined][] = [
  ['without a network', () => Promise.reject(new TypeError('Failed to fetch'))],
  ['once the session is over', () => new Response('', { status: 401 })],
  ['while the network hangs', () => undefined],
]
for (const [when, answer] of outages)
  t.test(`A removal that cannot be sent keeps no other page here once the history is off: ${when}`, async (t) => {
    const { installed, history } = await withHistory(t, 'https://visited.example/')
    const { userId } = installed.connection
    history.visit('https://other.example/', { title: 'Other', visitTime: Date.now() })
    await installed.passMinute(async () => (await installed.ask({ ask: 'visits' })).visits?.count === 2)
    await until(async () => (await installed.state()).sync?.waiting === 0)
    history.remove('https://visited.example/')
    const recovered = Promise.withResolvers<Response>()
    installed.refuse = ({ signal }) => answer() ?? abortable(recovered.promise, signal)
    const { error } = await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
    t.same([error, installed.settings().visits], [undefined, false])
    await until(async () => !/(visited|other)\.example/.test(await storedIn(userId)))
    t.same(await installed.type('example'), [])
    t.equal((await installed.state()).sync?.waiting, 1)
    installed.refuse = () => undefined
    // Otherwise, a request of the worker that runs now might hang for two minutes.
    recovered.resolve(new Response('', { status: 503 }))
    await installed.ask({ ask: 'sync-now' })
    await until(async () => !(await storedIn(userId)).includes('history\\t'))
    t.equal((await installed.state()).sync?.waiting, 0)
  })

for (const [when, answer] of outages.slice(0, 2))
  t.test(`An erasure that cannot begin changes nothing, and its person learns that: ${when}`, async (t) => {
    const { installed } = await withHistory(t, 'https://visited.example/')
    installed.refuse = answer
    const act = { do: 'turn-off', erases: true } as const
    const { error } = await installed.ask({ ask: 'visits', act })
    t.equal(error?.message, 'Nothing was erased: this browser cannot sync right now. The popup shows why')
    t.equal(installed.settings().visits, true)
    t.match((await installed.ask({ ask: 'visits' })).visits, { count: 1 })
    installed.refuse = () => undefined
    const erased = await installed.ask({ ask: 'visits', act })
    t.match([erased, installed.settings().visits], [{ error: undefined, isErasureUnsent: false }, false])
    const elsewhere = openElsewhere(installed)
    await elsewhere.syncNow()
    t.same(
      [...elsewhere.history.records().values()].map(({ url }) => url),
      [undefined],
      'the time of that is left',
    )
  })

for (const question of [
  { ask: 'visits', act: { do: 'turn-off', erases: false } },
  { ask: 'sign-out', discardUnsent: false },
] as const)
  t.test(`A page that was removed less than a minute before is removed everywhere: ${question.ask}`, async (t) => {
    const page = 'https://visited.example/'
    const { installed, history } = await withHistory(t, page)
    history.remove(page)
    t.equal((await installed.ask(question)).error, undefined)
    await installed.connection.signIn()
    const elsewhere = openElsewhere(installed)
    await until(async () => {
      if (question.ask === 'visits') await installed.ask({ ask: 'sync-now' })
      await elsewhere.syncNow()
      return [...elsewhere.history.records().values()].every(({ url }) => url === undefined)
    })
    t.equal(elsewhere.history.records().size, 1)
  })

t.test(
  'Tab groups are off until the browser allows them, and leave nothing here once they are turned off',
  async (t) => {
    const installed = await install(t)
    const { tabs } = installed
    installed.run()
    await installed.shows('In step')
    t.equal((await installed.ask({ ask: 'groups' })).groups, undefined)
    t.equal(installed.settings().groups, undefined)
    installed.seesTabs = true
    installed.happens('allowed')
    await until(async () => (await installed.ask({ ask: 'groups' })).groups !== undefined)
    tabs.look(tabs.tabsOf(tabs.openGroup('', 'red', ['https://example.org/a']))[0] as number)
    const save = { ask: 'groups', act: { do: 'save', what: 'group', title: 'Work' } } as const
    await until(async () => (await installed.ask(save)).groups?.list[0]?.tabs.length === 1)
    const { groups } = await installed.ask({ ask: 'groups' })
    t.match(groups, { list: [{ title: 'Work', isOpen: true }], refused: [], failed: [] })
    t.same(await installed.type('title /a'), ['https://example.org/a'], 'the address bar finds its tab')
    const act = { do: 'open', id: groups?.list[0]?.id ?? '', inNewWindow: false, most: 0 } as const
    tabs.close(tabs.tabsOf([...tabs.groups.keys()][0] as number))
    t.match((await installed.ask({ ask: 'groups', act })).groups, { isTooLarge: true, list: [{ isOpen: false }] })
    const opened = await installed.ask({ ask: 'groups', act: { ...act, most: 1 } })
    t.match(opened.groups, { isTooLarge: false, list: [{ isOpen: true }] })
    const { error } = await installed.ask({ ask: 'groups', act: { do: 'remove', id: 'none' } })
    t.equal(error?.name, 'RangeError')
    await until(async () => (await installed.state()).sync?.waiting === 0)
    installed.seesTabs = false
    installed.happens('forbidden')
    await until(async () => (await installed.ask({ ask: 'groups' })).groups === undefined)
    await until(() => installed.settings().groups === undefined)
    t.same([tabs.text, await installed.type('title /a')], [['Work red: https://example.org/a'], []], 'the tabs stay')
    await until(async () => !(await storedIn(installed.connection.userId)).includes('example.org'))
    installed.seesTabs = true
    installed.happens('allowed')
    await until(async () => (await installed.ask(save)).groups !== undefined)
    t.not(installed.settings().groups, undefined)
    await installed.ask({ ask: 'pause' })
    installed.seesTabs = false
    installed.happens('forbidden')
    await until(() => installed.settings().groups === undefined)
  },
)
