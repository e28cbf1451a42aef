/** Undo, and cut and paste, while other devices make changes: restored bookmarks keep their identity. */
import t, { type Test } from 'tap'
import type { Flavour } from './browser-model.ts'
import { copyOf, type Device, idOf, openDevices, recordOf, restMs, settle, textOf } from './device.ts'

const at = (path: string) => `https://example.org/${path}`
const link = (title: string, parentId = '2') => ({ parentId, title, url: at(title) })
/** After this time (ms), a delete of a bookmark from another device does not count as Undo. */
const longAgoMs = 600_000

/** Two browsers with bookmarks of these titles, each with a tag. */
async function filled(titles: string[], first: Flavour = 'chrome'): Promise<[Device, Device]> {
  const devices = await openDevices(['one', first], ['other'])
  const [one, other] = devices
  for (const title of titles) other.model.create(link(title))
  await settle(other, one)
  for (const title of titles) await other.sync.update(recordOf(other, title), { tags: [title] })
  for (let round = 0; round < 3; round++) {
    await settle(other, one)
    for (const { model } of devices) model.ahead += longAgoMs
  }
  return devices
}

/** Sends and receives without letting time pass. */
async function exchange(...devices: Device[]): Promise<void> {
  for (let round = 0; round < 2; round++) {
    for (const { browserSync, sync } of devices) {
      await browserSync.compareNow()
      await sync.syncNow()
      await browserSync.compareNow()
    }
  }
}

function namesIn({ sync }: Device): string[] {
  return [...sync.bookmarks().values()].flatMap(({ url, title }) => (url ? title : [])).sort()
}

function hasKept(t: Test, { sync }: Device, title: string, id: string): void {
  t.match(sync.get(id), { title, tags: [title] }, 'with id and tags')
}

for (const flavour of ['chrome', 'firefox'] as const) {
  t.test(`Undo right after a delete reverts it, and bookmarks that came meanwhile stay: ${flavour}`, async (t) => {
    const [one, other] = await filled(['own', 'kept'], flavour)
    const record = recordOf(one, 'own')
    one.model.remove(idOf(one, 'own'))
    await exchange(one)
    other.model.create(link('from the phone'))
    await exchange(other, one)
    t.equal(idOf(one, 'from the phone'), undefined, 'for some seconds, nothing is done to the browser')
    t.match(one.model.undo(), { title: 'own', isExtensions: false })
    await settle(one, other)
    t.ok(idOf(one, 'from the phone'))
    t.same(namesIn(other), ['from the phone', 'kept', 'own'])
    hasKept(t, other, 'own', record)
    t.equal(one.browserSync.status().heldRemovals, undefined)
  })
}

t.test('A bookmark renamed on another device has its new name after Undo, even in another worker', async (t) => {
  const [one, other] = await filled(['own'])
  const record = recordOf(one, 'own')
  one.model.remove(idOf(one, 'own'))
  await exchange(one)
  one.open()
  other.model.update(idOf(other, 'own'), { title: 'renamed' })
  await exchange(other, one)
  one.model.undo()
  await settle(one, other)
  for (const device of [one, other]) t.same(namesIn(device), ['renamed'])
  t.match(other.sync.get(record), { title: 'renamed', tags: ['own'] })
})

t.test('Without an Undo, the delete and the new bookmark are applied some seconds later', async (t) => {
  const [one, other] = await filled(['own', 'kept'])
  one.model.remove(idOf(one, 'own'))
  other.model.create(link('from the phone'))
  await exchange(one, other)
  t.same(namesIn(other), ['from the phone', 'kept', 'own'])
  await settle(one, other)
  for (const device of [one, other]) t.same(namesIn(device), ['from the phone', 'kept'])
  t.same(textOf(one), textOf(other))
})

t.test('A later Undo removes the bookmark that came last: the user is asked, and can have both', async (t) => {
  const [one, other] = await filled(['own', 'kept'])
  const record = recordOf(one, 'own')
  one.model.remove(idOf(one, 'own'))
  await settle(one, other)
  t.same(namesIn(other), ['kept'])
  other.model.create(link('from the phone'))
  await settle(other, one)
  t.match(one.model.undo(), { title: 'from the phone', isExtensions: true })
  await settle(one, other)
  t.same(namesIn(other), ['from the phone', 'kept'], 'it is not deleted elsewhere')
  t.same(
    one.browserSync.heldRemovals().map(({ title }) => title),
    ['from the phone'],
  )
  await one.browserSync.rejectRemovals()
  await settle(one, other)
  for (const device of [one, other]) t.same(namesIn(device), ['from the phone', 'kept', 'own'])
  hasKept(t, other, 'own', record)
})

t.test('The user is not asked about deleting another bookmark than the one that came last', async (t) => {
  const [one, other] = await filled([])
  for (const title of ['a', 'b']) {
    other.model.create(link(title))
    await settle(other, one)
  }
  one.model.remove(idOf(one, 'a'))
  await settle(one, other)
  t.equal(one.browserSync.status().heldRemovals, undefined)
  t.same(namesIn(other), ['b'])
})

t.test("A bookmark that another device deleted and Chrome's Undo brings back keeps its id and tags", async (t) => {
  const [one, other] = await filled(['own', 'theirs'])
  const record = recordOf(one, 'theirs')
  one.model.remove(idOf(one, 'own'))
  await settle(one, other)
  other.model.remove(idOf(other, 'theirs'))
  await settle(other, one)
  t.same(namesIn(one), [])
  t.match(one.model.undo(), { title: 'theirs', isExtensions: true })
  await settle(one, other)
  for (const device of [one, other]) t.same(namesIn(device), ['theirs'])
  hasKept(t, other, 'theirs', record)
})

t.test('A cut is not a delete: a change by another device before the paste stays', async (t) => {
  for (const isWorkerNew of [false, true]) {
    const [one, other] = await filled(['moved'])
    const record = recordOf(one, 'moved')
    const into = one.model.create({ parentId: '1', title: 'Into' }).id
    await settle(one, other)
    const paste = copyOf(one.model, idOf(one, 'moved'))
    one.model.remove(idOf(one, 'moved'))
    await exchange(one)
    if (isWorkerNew) one.open()
    other.model.update(idOf(other, 'moved'), { url: at('edited') })
    await exchange(other, one)
    t.same(namesIn(other), ['moved'])
    paste(into)
    await settle(one, other)
    const lines = ['Bookmarks bar/', '  Into/', `    moved ${at('edited')}`, 'Other bookmarks/']
    for (const device of [one, other]) t.same(textOf(device), lines)
    hasKept(t, other, 'moved', record)
    t.same(
      [one, other].flatMap(({ sync }) => sync.conflicts()),
      [],
    )
  }
})

t.test('A bookmark that was deleted here and changed elsewhere is back some seconds later', async (t) => {
  const [one, other] = await filled(['changed'])
  one.model.remove(idOf(one, 'changed'))
  await exchange(one)
  other.model.update(idOf(other, 'changed'), { url: at('edited') })
  await exchange(other, one)
  t.equal(idOf(one, 'changed'), undefined)
  one.model.ahead += restMs
  await settle(one, other)
  for (const device of [one, other]) t.same(textOf(device).at(-1), `  changed ${at('edited')}`)
})

t.test(
  'A browser that is closed some seconds after a delete passes it on at its next start, and asks nothing',
  async (t) => {
    const [one, other] = await filled(['newest'])
    one.model.remove(idOf(one, 'newest'))
    await exchange(one)
    one.model.ahead += restMs
    one.restart()
    await settle(one, other)
    t.equal(one.browserSync.status().heldRemovals, undefined)
    t.same(namesIn(other), [])
  },
)
