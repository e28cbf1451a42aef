import t from 'tap'
import { sealJson } from '../../src/client/crypto/record.ts'
import { createClient, deriveKeys, StorageFullError, type SyncProgress, unwrap } from '../../src/client/index.ts'
import { bookmarksIn } from '../client/bookmark-file/samples.ts'
import { change } from '../support/changes.ts'
import { pick } from '../support/pick.ts'
import { BrowserModel } from './browser-model.ts'
import {
  chromeAndFirefox,
  type Device,
  idOf,
  masterKey,
  openDevices,
  recordOf,
  settle,
  textOf,
  titlesOf,
  twoDevices,
} from './device.ts'

const at = (path: string) => `https://example.org/${path}`
const link = (parentId: string, title: string) => ({ parentId, title, url: at(title) })
const line = (title: string) => `  ${title} ${at(title)}`

async function approveRemovals({ browserSync }: Device): Promise<void> {
  await browserSync.approveRemovals(browserSync.heldRemovals().map(({ id }) => id))
}

function removeFirst({ model }: Device, count: number, parentId = '1'): void {
  for (const id of model.childrenOf(parentId).slice(0, count)) model.remove(id)
}

function inChrome(device: Device, role: 'bar' | 'other'): string[] {
  const lines = textOf(device)
  const start = lines.indexOf('Other bookmarks/')
  return role === 'bar' ? lines.slice(1, start) : lines.slice(start + 1)
}

t.test("A file of a browser, imported elsewhere, fills the browser's own folders without duplicates", async (t) => {
  const [chrome, firefox] = await chromeAndFirefox()
  for (const root of ['toolbar', 'unfiled', 'menu']) firefox.model.create(link(root.padEnd(12, '_'), root))
  await settle(chrome, firefox)
  const item = (title: string) => `<DT><A HREF="${at(title)}">${title}</A>`
  const list = (...items: string[]) => `<DL><p>${items.join('')}</DL><p>`
  const folder = (title: string, mark: string, ...items: string[]) =>
    `<DT><H3 ${mark}="true">${title}</H3>${list(...items)}`
  const fromFirefox = list(
    ...[item('menu'), item('new-in-menu')],
    folder('Lesezeichen-Symbolleiste', 'PERSONAL_TOOLBAR_FOLDER', item('toolbar'), item('new-in-toolbar')),
    folder('Weitere Lesezeichen', 'UNFILED_BOOKMARKS_FOLDER', item('unfiled'), item('new-in-other')),
  )
  const fromChrome = list(
    folder('Lesezeichenleiste', 'PERSONAL_TOOLBAR_FOLDER', item('toolbar'), item('new-in-bar')),
    ...[item('unfiled'), item('new')],
  )
  for (const file of [fromFirefox, fromChrome, fromFirefox]) await chrome.sync.importBookmarks(bookmarksIn(file))
  await settle(chrome, firefox)
  t.same(textOf(firefox), [
    ...['Bookmarks Menu/', line('menu'), line('new-in-menu')],
    ...['Bookmarks Toolbar/', line('toolbar'), line('new-in-toolbar'), line('new-in-bar')],
    ...['Other Bookmarks/', line('unfiled'), line('new-in-other'), line('new')],
    'Mobile Bookmarks/',
  ])
})

t.test('A move keeps the ids in the browser and at the service, and the fields of other clients', async (t) => {
  const [one, other] = await openDevices(['one'], ['other', 'firefox'])
  for (const title of ['a', 'b', 'c', 'd']) one.model.create(link('1', title))
  await settle(one, other)
  const ids = () => [...other.model.nodes.keys()].sort()
  const [before, records] = [ids(), [...one.sync.bookmarks().keys()].sort()]
  const [a = ''] = one.model.childrenOf('1')
  const record = recordOf(one, 'a')
  await one.sync.update(record, { tags: ['kept'] })
  one.model.move(a, { parentId: '1', index: 4 })
  await settle(one, other)
  t.same(textOf(other).slice(1, 6), ['Bookmarks Toolbar/', ...['b', 'c', 'd', 'a'].map(line)])
  t.same([ids(), [...one.sync.bookmarks().keys()].sort()], [before, records])
  t.same(other.sync.get(record)?.tags, ['kept'])
})

t.test('Bookmarks added one by one at the same place in two offline browsers stay together', async (t) => {
  const [one, other] = await twoDevices()
  for (const title of ['first', 'last']) one.model.create(link('1', title))
  await settle(one, other)
  for (const [device, name] of [
    [one, 'a'],
    [other, 'b'],
  ] as const) {
    device.connection.goOffline()
    for (const nth of [1, 2, 3]) {
      device.model.create({ ...link('1', `${name}${nth}`), index: nth })
      device.model.create(link('1', `end-${name}${nth}`))
      // A new worker, because a browser stops an idle one.
      device.open()
      await device.sync.put([])
      await device.browserSync.compareNow()
      t.equal(device.sync.status().waiting, 2 * nth)
    }
    device.connection.goOnline()
  }
  await settle(one, other)
  t.same(textOf(one), textOf(other))
  const runs = inChrome(one, 'bar').map((text) => /first|last|end-[ab]|[ab]/.exec(text)?.[0])
  const [x, y] = runs[1] === 'a' ? ['a', 'b'] : ['b', 'a']
  const expected = ['first', x, y, 'last', `end-${x}`, `end-${y}`]
  t.same(
    runs.filter((run, index) => run !== runs[index - 1]),
    expected,
  )
})

t.test('A first sync reports how many bookmarks are to be added on both sides, and how many are done', async (t) => {
  const [one, other] = await twoDevices()
  for (const title of titlesOf(1200)) one.model.create(link('1', title))
  await one.step()
  const seen = async (device: Device) => {
    const told: (SyncProgress | undefined)[] = []
    device.browserSync.on('status', () => told.push(device.browserSync.status().progress))
    await settle(device)
    return told.filter((one) => one !== undefined)
  }
  other.model.create(link('2', 'another'))
  const here = await seen(other)
  t.ok(here.length >= 13 && here.every(({ total }) => total === 1201))
  t.same(
    here.map(({ done }) => done),
    here.map(({ done }) => done).toSorted((one, other) => one - other),
  )
  t.same([here.at(-1), other.browserSync.status().progress], [{ done: 1201, total: 1201 }, undefined])
})

t.test('Only touched folders are read again, or all folders if they do not fit together', async (t) => {
  const [one, other] = await openDevices(['one', 'firefox'], ['other'])
  const { model } = one
  const folders = ['a', 'b', 'c'].map((title) => model.create({ parentId: 'menu________', title }).id)
  const [a = '', b = ''] = folders
  const ids = folders.flatMap((id) => ['x', 'y'].map((title) => model.create(link(id, title)).id))
  const [inA = '', , inB = ''] = ids
  const afterwards = async (device: Device, work: () => unknown) => {
    await settle(one, other)
    device.model.reads = []
    await work()
    await device.browserSync.compareNow()
    return device.model.reads
  }
  t.same(await afterwards(one, () => {}), [])
  t.same(await afterwards(one, () => model.create(link(a, 'z'))), [a])
  t.same(await afterwards(one, () => model.update(inB, { title: 'renamed' })), [b])
  t.same(await afterwards(one, () => model.move(inA, { parentId: b, index: 0 })), [b, a])
  const inNew = () => model.create(link(model.create({ parentId: a, title: 'new' }).id, 'in it'))
  t.same((await afterwards(one, inNew)).length, 2, 'what is new is read with what is in it')
  const record = recordOf(one, 'renamed')
  const moveWhileItReads = () => {
    model.update(inB, { title: 'again' })
    model.move(inB, { parentId: a, index: 0 })
    model.onceRead(b, () => model.move(inB, { parentId: b, index: 0 }))
  }
  const reads = await afterwards(one, moveWhileItReads)
  t.same(reads.slice(0, 3), [b, a, 'root________'])
  await settle(one, other)
  t.equal(one.sync.get(record)?.title, 'again', 'what is moved while it reads is not deleted')
  one.open()
  model.reads = []
  await one.step()
  t.same(model.reads, ['root________'], 'a new worker knows nothing')
})

t.test('A comparison parses the addresses of new bookmarks only', async (t) => {
  const [device] = await openDevices(['one'])
  for (let count = 0; count < 50; count++) device.model.create(link('1', `known-${count}`))
  await settle(device)
  device.model.create(link('1', 'new'))
  const read = t.capture(URL, 'canParse', URL.canParse)
  await device.browserSync.compareNow()
  t.same(
    read().flatMap(({ args }) => args[0]),
    [at('new')],
  )
})

t.test('Queries of Firefox and bookmarks of an administrator are not synced', async (t) => {
  const [chrome, firefox] = await chromeAndFirefox()
  chrome.model.manage(at('intranet'))
  firefox.model.create({ parentId: 'menu________', title: 'Recent', url: 'place:sort=12' })
  firefox.model.create(link('menu________', 'menu'))
  await settle(chrome, firefox)
  const records = [...chrome.sync.bookmarks().values()]
  t.same(pick(records, 'title'), ['Bookmarks Menu', 'menu'])
  t.same(textOf(firefox).slice(0, 3), ['Bookmarks Menu/', '  Recent place:sort=12', line('menu')])
})

t.test('A bookmark that one side refuses is reported, stays on the other, and is retried if changed', async (t) => {
  const [device] = await openDevices(['chrome'])
  await device.step()
  await device.sync.put({ id: 'bad', title: 'bad', url: 'not an address', source: 'bookmarks' })
  await settle(device)
  const refused = [{ id: 'bad', by: 'browser', message: 'Invalid URL.' }]
  t.match(device.browserSync.status(), { state: 'in-step', refused })
  await device.sync.update('bad', { url: at('good') })
  await settle(device)
  t.same(device.browserSync.status().refused, [])
  t.same(inChrome(device, 'other'), [`  bad ${at('good')}`])
  const node = idOf(device, 'bad')
  for (const path of ['x'.repeat(200_000), 'short']) {
    device.model.update(node, { title: 'new', url: at(path) })
    await device.browserSync.compareNow()
  }
  t.match(device.sync.get('bad'), { title: 'new', url: at('short') }, 'an edit too large for the service is not lost')
  await device.sync.update('bad', { url: 'not an address' })
  await settle(device)
  device.model.update(node, { title: 'newer' })
  await device.browserSync.compareNow()
  t.match(device.browserSync.status(), { refused }, 'nor is one that the browser refuses')
})

t.test('Five deletes pass without a question, a sixth in that minute waits; approved ones do not count', async (t) => {
  const [one] = await openDevices(['one'])
  for (const title of titlesOf(12)) one.model.create(link('1', title))
  await settle(one)
  const linksInSync = () => [...one.sync.bookmarks().values()].filter(({ url }) => url).length
  const state = () => [one.browserSync.status().heldRemovals?.count, linksInSync()]
  removeFirst(one, 5)
  await settle(one)
  t.same(state(), [undefined, 7])
  one.model.ahead += 30_000
  removeFirst(one, 1)
  await settle(one)
  t.same(state(), [1, 7])
  await approveRemovals(one)
  await settle(one)
  one.model.ahead += 40_000
  removeFirst(one, 5)
  await settle(one)
  t.same(state(), [undefined, 1])
})

t.test('A bookmark that changes elsewhere while its delete is passed on stays', async (t) => {
  const [one, other] = await twoDevices()
  one.model.create(link('1', 'gone'))
  await settle(one, other)
  const kept = recordOf(one, 'gone')
  one.model.remove(idOf(one, 'gone'))
  one.model.create(link('1', 'new'))
  const { put } = one.sync
  one.sync.put = async (list) => {
    if (Array.isArray(list) && list.length === 0) return put(list)
    one.sync.put = put
    await one.sync.update(kept, { title: 'changed' })
    return put(list)
  }
  await settle(one, other)
  const expected = [`  changed ${at('gone')}`, line('new')]
  t.same([inChrome(one, 'bar').sort(), inChrome(other, 'bar').sort()], [expected, expected])
})

t.test('Held deletes go on waiting even if there are fewer of them by now, or more bookmarks', async (t) => {
  const [one, other] = await twoDevices()
  const folder = one.model.create({ parentId: '1', title: 'Work' }).id
  const titles = titlesOf(8)
  for (const title of titles) one.model.create(link(folder, title))
  await settle(one, other)
  removeFirst(one, 6, folder)
  await settle(one, other)
  t.match(one.browserSync.status(), { heldRemovals: { count: 6 } })
  const [first] = one.browserSync.heldRemovals()
  await one.browserSync.approveRemovals([first?.id ?? ''])
  t.match(one.browserSync.status(), { heldRemovals: { count: 5 } }, 'some are approved')
  for (let more = 0; more < 60; more++) other.model.create(link('2', `more${more}`))
  await settle(one, other)
  t.match(one.browserSync.status(), { heldRemovals: { count: 5 } }, 'another device adds many')
  t.equal(inChrome(other, 'bar').length, 8)
  await approveRemovals(one)
  await settle(one, other)
  t.equal(inChrome(other, 'bar').length, 3)
})

t.test('Held deletes, and those shortly before them, outlive the worker', async (t) => {
  const [one, other] = await twoDevices()
  const titles = titlesOf(21)
  for (const title of titles) one.model.create(link('1', title))
  await settle(one, other)
  removeFirst(one, 4)
  await settle(one, other)
  one.open()
  removeFirst(one, 6)
  await settle(one, other)
  t.equal(one.browserSync.heldRemovals().length, 6, 'together they are many')
  for (const title of titlesOf(100)) one.model.create(link('2', `more-${title}`))
  one.open()
  await settle(one, other)
  t.same(
    one.browserSync.heldRemovals().map(({ title }) => title),
    titles.slice(4, 10),
  )
  t.equal(inChrome(other, 'bar').length, 17)
  one.open()
  one.model.ahead += 3_600_000
  await settle(one, other)
  const { put } = one.sync
  one.sync.put = async () => {
    one.sync.put = put
    throw new StorageFullError()
  }
  await t.rejects(one.browserSync.rejectRemovals(), StorageFullError)
  await one.browserSync.rejectRemovals()
  await settle(one, other)
  for (const device of [one, other]) t.same(inChrome(device, 'bar').toSorted(), titles.map(line).toSorted())
  t.equal(one.browserSync.status().heldRemovals, undefined)

  one.model.ahead += 700_000
  removeFirst(one, 4)
  await settle(one, other)
  one.model.ahead += 700_000
  await settle(one, other)
  const { rows } = await one.agreed.load()
  t.equal([...rows.values()].filter(({ removal }) => removal).length, 0, 'nothing of it stays in the store')
})

t.test('A folder that is left out stays as it is on both sides, and is merged when it is included again', async (t) => {
  const [one, other] = await twoDevices()
  const { id } = one.model.create({ parentId: '1', title: 'Work' })
  one.model.create(link(id, 'shared'))
  await settle(one, other)
  await one.browserSync.leaveOut(id)
  one.model.create(link(id, 'mine'))
  other.model.create(link(other.model.childrenOf('1')[0] ?? '', 'theirs'))
  await settle(one, other)
  t.same(inChrome(one, 'bar'), ['  Work/', `  ${line('shared')}`, `  ${line('mine')}`])
  t.same(inChrome(other, 'bar'), ['  Work/', `  ${line('shared')}`, `  ${line('theirs')}`])
  await one.browserSync.takeIn(id)
  await settle(one, other)
  const joined = ['  Work/', ...['mine', 'shared', 'theirs'].map((title) => `  ${line(title)}`)]
  for (const device of [one, other]) t.same(inChrome(device, 'bar').toSorted(), joined.toSorted())
})

t.test('A starred repository is in the browser only while it is in a folder, and stays at the service', async (t) => {
  const [one, other] = await twoDevices()
  const star = { id: 'star', source: 'stars' as const, title: 'owner/name', url: at('star') }
  await one.sync.put([star, { id: 'code', source: 'bookmarks', title: 'Code' }])
  await settle(one, other)
  const shows = (device: Device) => textOf(device).some((line) => line.includes(star.title))
  t.same([one, other].map(shows), [false, false])
  await other.sync.update(star.id, { parentId: 'code' })
  await settle(one, other)
  t.same([one, other].map(shows), [true, true])
  await one.sync.move(star.id, {})
  await settle(one, other)
  t.same([one, other].map(shows), [false, false])
  t.match(other.sync.get(star.id), star, 'it is not deleted')
})

t.test('A folder is not left out if that could not be stored', async (t) => {
  const [one, other] = await twoDevices()
  const { id } = one.model.create({ parentId: '1', title: 'Work' })
  await settle(one, other)
  const { write } = one.agreed
  one.agreed.write = async () => {
    one.agreed.write = write
    throw new StorageFullError()
  }
  await t.rejects(one.browserSync.leaveOut(id), StorageFullError)
  t.same(one.browserSync.leftOut(), [])
  one.model.create(link(id, 'mine'))
  await settle(one, other)
  t.same(inChrome(other, 'bar'), ['  Work/', `  ${line('mine')}`])
})

t.test("A browser's own folder that is left out stays as it is on both sides, too", async (t) => {
  const [one, other] = await twoDevices()
  for (const id of ['1', '2']) one.model.create(link(id, `in-${id}`))
  await settle(one, other)
  for (const id of ['1', '2']) {
    const before = textOf(one)
    await one.browserSync.leaveOut(id)
    one.model.create(link(id, `mine-${id}`))
    other.model.create(link(id, `theirs-${id}`))
    await settle(one, other)
    const newIn = (device: Device) => textOf(device).filter((text) => !before.includes(text))
    t.same([newIn(one), newIn(other)], [[line(`mine-${id}`)], [line(`theirs-${id}`)]])
    await one.browserSync.takeIn(id)
    await settle(one, other)
    t.equal(textOf(one).length, before.length + 2)
    t.same(textOf(other), textOf(one))
  }
})

t.test("A browser's own folder stays as it is if its counterpart is in a folder that is left out", async (t) => {
  const [chrome, firefox] = await chromeAndFirefox()
  chrome.model.create({ parentId: chrome.model.create({ parentId: '1', title: 'out' }).id, title: 'inside' })
  firefox.model.create(link('menu________', 'menu'))
  await settle(chrome, firefox)
  chrome.model.move(idOf(chrome, 'Bookmarks Menu'), { parentId: idOf(chrome, 'inside') })
  await settle(chrome, firefox)
  await firefox.browserSync.leaveOut(idOf(firefox, 'out'))
  await settle(chrome, firefox)
  t.same(textOf(firefox).slice(0, 2), ['Bookmarks Menu/', line('menu')])
})

t.test('A sync that is empty or signed out deletes nothing in the browser', async (t) => {
  const [device] = await openDevices(['one', new BrowserModel('chrome', { folderTypes: false })])
  device.model.create(link('1', 'kept'))
  await device.browserSync.compareNow()
  t.equal(device.browserSync.status().state, 'waiting')
  await device.step()
  await device.sync.signOut()
  await device.browserSync.compareNow()
  t.same([device.browserSync.status().state, inChrome(device, 'bar')], ['waiting', [line('kept')]])
})

t.test('An edit or move by the user stays when a change or delete of the bookmark arrives meanwhile', async (t) => {
  const [one, other] = await twoDevices()
  const ids = ['edited', 'moved', 'kept'].map((title) => one.model.create(link('1', title)).id)
  await settle(one, other)
  const [edited = '', moved = '', kept = ''] = ids
  const [editedThere = '', movedThere = '', keptThere = ''] = other.model.childrenOf('1')
  other.model.update(editedThere, { url: at('theirs') })
  other.model.move(movedThere, { parentId: '1', index: 0 })
  other.model.remove(keptThere)
  await settle(other)
  one.open()
  await one.sync.put([])
  await one.sync.syncNow()
  one.model.onceRead('0', () => {
    one.model.update(edited, { title: 'mine' })
    one.model.move(moved, { parentId: '2' })
    one.model.update(kept, { title: 'kept after all' })
  })
  await settle(one, other)
  const inBar = [`  mine ${at('theirs')}`, `  kept after all ${at('kept')}`]
  for (const device of [one, other]) {
    t.same([inChrome(device, 'bar').toSorted(), inChrome(device, 'other')], [inBar.toSorted(), [line('moved')]])
  }
})

t.test('The browser is not changed before the last page of a pull', async (t) => {
  const [one, other] = await twoDevices()
  await settle(one, other)
  const titles = titlesOf(60)
  for (const title of titles) other.model.create(link('1', title))
  await settle(other)
  const { fetch } = one.connection
  const seen: unknown[] = []
  const fetchByOne: typeof fetch = async (request) => {
    if (!request.url.endsWith('/pull')) return fetch(request)
    const { method, headers, signal, url } = request
    const body = JSON.stringify({ ...(await request.json()), limit: 20 })
    await one.browserSync.compareNow()
    seen.push(`${one.browserSync.status().state} ${one.sync.bookmarks().size} ${inChrome(one, 'bar').length}`)
    return fetch(new Request(url, { method, headers, signal, body }))
  }
  Object.assign(one.connection, { fetch: fetchByOne })
  one.open()
  await one.sync.syncNow()
  t.same(seen.slice(-2), ['waiting 20 0', 'waiting 40 0'])
  await settle(one)
  t.same(inChrome(one, 'bar'), titles.map(line))
})

t.test('A clock that is set back delays the next reading of all folders by no more than an hour', async (t) => {
  const [one] = await openDevices(['one'])
  await settle(one)
  one.model.ahead = -5 * 3_600_000
  one.model.reads = []
  await one.browserSync.compareNow()
  t.same(one.model.reads, ['0'])
})

t.test('A sign-out during a comparison removes nothing from the browser', async (t) => {
  const [one] = await openDevices(['one'])
  const { model } = one
  for (const title of ['a', 'b', 'c']) model.create(link('1', title))
  await settle(one)
  const before = textOf(one)
  const api = model.api.bind(model)
  model.api = (gate) => {
    const bookmarks = api(gate)
    const getTree = async () => {
      const tree = await bookmarks.getTree()
      await one.sync.signOut()
      return tree
    }
    return { ...bookmarks, getTree }
  }
  one.open()
  await one.sync.put([])
  await one.browserSync.compareNow()
  t.equal(one.sync.status().state, 'signed-out')
  t.same(textOf(one), before)
})

t.test('The browser gets in step even if another client has stored fields of the wrong types', async (t) => {
  const [one, other] = await twoDevices()
  await settle(one, other)
  const odd = [
    { title: 5 },
    { title: null },
    { title: { a: 1 }, url: at('odd') },
    { title: ['a'], url: 5, position: 7 },
  ]
  const changes = odd.map((fields, index) => {
    const id = `odd-${index}`
    const json = JSON.stringify({ id, source: 'bookmarks', attributes: null, ...fields })
    return change({ entity_id: id, device_id: 'old', ...sealJson(deriveKeys(masterKey), id, json) })
  })
  const client = createClient({ ...one.connection, deviceId: 'old' })
  unwrap(await client.POST('/api/v1/sync/push', { body: { changes } }))
  other.model.create(link('2', 'plain'))
  await settle(one, other)
  for (const { browserSync } of [one, other]) t.equal(browserSync.status().state, 'in-step')
  t.ok(inChrome(one, 'other').includes(line('plain')))
})
