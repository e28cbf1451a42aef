import t from 'tap'
import { copyOf, type Device, idOf, recordOf, settle, textOf, titlesOf, twoDevices } from './device.ts'

const at = (path: string) => `https://example.org/${path}`
const link = (parentId: string, title: string) => ({ parentId, title, url: at(title) })

/** Two browsers with this many bookmarks in the folder `From`, each with a tag, and with an empty folder `To`. */
async function filled(count: number): Promise<[Device, Device]> {
  const devices = await twoDevices()
  const [one] = devices
  const folder = one.model.create({ parentId: '1', title: 'From' }).id
  one.model.create({ parentId: '1', title: 'To' })
  for (const title of titlesOf(count)) one.model.create(link(folder, title))
  await settle(...devices)
  for (const { id, title, url } of one.sync.bookmarks().values()) if (url) await one.sync.update(id, { tags: [title] })
  await settle(...devices)
  for (const { model } of devices) model.ahead += 3_600_000
  return devices
}

/** Cuts like the browsers' own bookmark managers: deletes the nodes. The returned function pastes them with new ids. */
function cut({ model }: Device, ids: readonly string[]): (into: string) => void {
  const copied = ids.map((id) => copyOf(model, id))
  for (const id of ids) model.removeTree(id)
  return (into) => {
    for (const copy of copied) copy(into)
  }
}

/** The service's records without their places. */
function recordsOf({ sync }: Device): unknown[] {
  const records = [...sync.bookmarks().values()].map(({ id, title, url, tags }) => ({ id, title, url, tags }))
  return records.sort((one, other) => (one.id < other.id ? -1 : 1))
}

/** The browser's lines after bookmarks with these titles have moved from `From` to `To`. */
function isMovedTo(titles: string[]): string[] {
  const lines = titles.map((title) => `    ${title} ${at(title)}`)
  return ['Bookmarks bar/', '  From/', '  To/', ...lines, 'Other bookmarks/']
}

t.test('Cut and pasted bookmarks count as moved: they keep ids and tags, and the user is not asked', async (t) => {
  for (const isSeen of [false, true]) {
    for (const count of [3, 30]) {
      const [one, other] = await filled(count)
      const before = recordsOf(one)
      const paste = cut(one, [...one.model.childrenOf(idOf(one, 'From'))])
      if (isSeen) await settle(one, other)
      paste(idOf(one, 'To'))
      await settle(one, other)
      const name = `${count}, ${isSeen ? 'compared in between' : 'at once'}`
      t.equal(one.browserSync.status().heldRemovals, undefined, name)
      t.same(recordsOf(other), before, name)
      for (const device of [one, other]) t.same(textOf(device), isMovedTo(titlesOf(count)), name)
    }
  }
})

t.test('A cut and pasted folder counts as moved, with all its contents', async (t) => {
  for (const isSeen of [false, true]) {
    const [one, other] = await filled(isSeen ? 3 : 12)
    const before = recordsOf(one)
    const paste = cut(one, [idOf(one, 'From')])
    if (isSeen) await settle(one, other)
    paste(idOf(one, 'To'))
    await settle(one, other)
    t.same([one.browserSync.status().heldRemovals, recordsOf(other)], [undefined, before])
    t.equal(other.sync.get(recordOf(other, 'From'))?.parentId, recordOf(other, 'To'))
    t.same(textOf(other), textOf(one))
  }
})

t.test('Bookmarks that another tool copies and then deletes count as moved, too', async (t) => {
  const [one, other] = await filled(12)
  const before = recordsOf(one)
  const old = [...one.model.childrenOf(idOf(one, 'From'))]
  for (const id of old) copyOf(one.model, id)(idOf(one, 'To'))
  await settle(one, other)
  for (const id of old) one.model.remove(id)
  await settle(one, other)
  t.same([one.browserSync.status().heldRemovals, recordsOf(other)], [undefined, before])
  for (const device of [one, other]) t.same(textOf(device), isMovedTo(titlesOf(12)))
  one.model.remove(idOf(one, 'b0'))
  await settle(one, other)
  t.equal(one.browserSync.status().heldRemovals, undefined, 'nor does it count as a delete afterwards')
})

t.test('A copy that somebody has given a tag stays a bookmark of its own', async (t) => {
  const [one, other] = await filled(1)
  const from = idOf(one, 'b0')
  copyOf(one.model, from)(idOf(one, 'To'))
  await settle(one, other)
  const copy = [...other.sync.bookmarks().values()].find(({ url, tags }) => url && !tags)?.id ?? ''
  await other.sync.update(copy, { tags: ['own'] })
  await settle(other, one)
  one.model.remove(from)
  await settle(one, other)
  t.same(one.sync.get(copy)?.tags, ['own'])
})

t.test('An older bookmark is not a copy of a newer one, and keeps its id when that is deleted', async (t) => {
  const [one, other] = await filled(1)
  const { model } = one
  model.create(link(idOf(one, 'To'), 'twice'))
  await settle(one, other)
  const { id } = [...one.sync.bookmarks().values()].find(({ title }) => title === 'twice') ?? {}
  model.ahead += 1000
  const later = model.create(link(idOf(one, 'From'), 'twice'))
  await settle(one, other)
  model.remove(later.id)
  await settle(one, other)
  t.match(
    [...one.sync.bookmarks().values()].filter(({ title }) => title === 'twice'),
    [{ id }],
  )
  t.equal(one.browserSync.status().heldRemovals, undefined)
})

t.test('Of equal bookmarks, the nearest counts as moved', async (t) => {
  const [one, other] = await filled(2)
  const { model } = one
  const [far, near] = ['1', idOf(one, 'From')].map((id) => model.create(link(id, 'twice')))
  await settle(one, other)
  const records = [...one.sync.bookmarks().values()].filter(({ title }) => title === 'twice')
  const inFrom = records.find(({ parentId }) => parentId === recordOf(one, 'From'))?.id ?? ''
  model.ahead += 3_600_000
  const inside = model.create({ parentId: idOf(one, 'From'), title: 'inside' }).id
  for (const { id } of [far, near] as { id: string }[]) model.remove(id)
  model.create(link(inside, 'twice'))
  await settle(one, other)
  t.equal(other.sync.get(inFrom)?.parentId, recordOf(other, 'inside'))
})

t.test('Bookmarks that a tool has recreated are not restored again together with later deletes', async (t) => {
  const [one, other] = await filled(43)
  const before = recordsOf(one)
  const shown = textOf(one).toSorted()
  const folder = idOf(one, 'From')
  for (const title of titlesOf(5)) {
    cut(one, [idOf(one, title)])(folder)
    await settle(one, other)
  }
  for (const title of titlesOf(30).slice(10)) one.model.remove(idOf(one, title))
  await settle(one, other)
  t.equal(one.browserSync.status().heldRemovals?.count, 20)
  await one.browserSync.rejectRemovals()
  await settle(one, other)
  for (const device of [one, other]) t.same([textOf(device).toSorted(), recordsOf(device)], [shown, before])

  await other.sync.remove([...other.sync.bookmarks().values()].flatMap(({ id, url }) => (url ? [id] : [])).slice(0, 20))
  await settle(other, one)
  t.equal(one.sync.status().heldDeletions?.count, 20)
  await one.sync.rejectDeletions()
  await settle(one, other)
  for (const device of [one, other]) t.same([textOf(device).toSorted(), recordsOf(device)], [shown, before])
})
