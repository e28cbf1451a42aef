/** The first sync of two browsers that both have bookmarks. */
import fc from 'fast-check'
import t from 'tap'
import { depth } from '../support/depth.ts'
import { chromeAndFirefox, type Device, differences, idOf, settle, textOf, twoDevices } from './device.ts'

const at = (path: string) => `https://example.org/${path}`

/** Few titles, so that some occur twice. */
const common = fc.record({ title: fc.constantFrom('a', 'b', 'c'), isFolder: fc.boolean(), into: fc.nat(5) })

function fill({ model }: Device, parentId: string, ...titles: string[]): void {
  for (const title of titles) model.create({ parentId, title, url: at(title) })
}

function titlesIn({ model }: Device, folder: string): string[] {
  return model.childrenOf(folder).map((id) => model.nodes.get(id)?.title ?? '')
}

t.test('New bookmarks of a browser go after those of the account', async (t) => {
  const [one, other] = await twoDevices()
  fill(one, '1', 'Mail', 'Calendar', 'Work', 'News')
  fill(other, '1', 'Start', 'Shop', 'Zeitung', 'News')
  await settle(one, other)
  const expected = ['Mail', 'Calendar', 'Work', 'News', 'Start', 'Shop', 'Zeitung']
  for (const device of [one, other]) t.same(titlesIn(device, '1'), expected)
})

t.test('Two browsers with the same bookmarks that both find an empty account add them only once', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(common, { minLength: 1, maxLength: 12 }),
      fc.infiniteStream(fc.nat(2)),
      async (all, dice) => {
        const devices = await twoDevices()
        for (const { model } of devices) {
          const folders = ['1', '2']
          for (const { title, isFolder, into } of all) {
            const parentId = folders[into % folders.length] as string
            if (isFolder) folders.push(model.create({ parentId, title }).id)
            else model.create({ parentId, title, url: at(title) })
          }
          // The two browsers have the bookmarks with different dates.
          model.ahead += 86_400_000
        }
        const [one, other] = devices
        const before = textOf(one)
        for (const { sync } of devices) await sync.syncNow()
        // Each browser adds first and sends afterwards.
        for (const { browserSync } of devices) await browserSync.compareNow()
        for (let count = 0; count < 6; count++) {
          const { sync, browserSync } = dice.next().value === 0 ? one : other
          await sync.syncNow()
          await browserSync.compareNow()
        }
        await settle(one, other)
        for (const device of devices) {
          t.same(textOf(device), before)
          t.same(device.sync.conflicts(), [])
        }
      },
    ),
    { numRuns: depth(6, 100) },
  )
})

t.test('Internal pages such as about:config are the same in Chrome and Firefox', async (t) => {
  const [chrome, firefox] = await chromeAndFirefox()
  // Chrome converts the address to this form.
  chrome.model.create({ parentId: '1', title: 'Config', url: 'chrome://config/' })
  firefox.model.create({ parentId: 'toolbar_____', title: 'Config', url: 'about:config' })
  await settle(chrome, firefox)
  t.equal(textOf(chrome)[1], '  Config chrome://config/')
  t.equal(titlesIn(firefox, 'toolbar_____').length, 1)
})

/** Two synced browsers. The first has changed its folders; the second has a new bookmark, and was signed out. */
async function forgotten(): Promise<[Device, Device]> {
  const [one, other] = await twoDevices()
  for (const name of ['F1', 'F2', 'F3']) {
    const folder = one.model.create({ parentId: '1', title: name }).id
    fill(one, folder, ...Array.from({ length: 10 }, (_, index) => `${name}-${index}`))
  }
  fill(one, '1', 'moved', 'kept')
  await settle(one, other)
  await one.model.api().update(idOf(one, 'F1'), { title: 'Renamed' })
  await one.model.api().move(idOf(one, 'F2'), { parentId: '2', index: 0 })
  await one.model.api().move(idOf(one, 'moved'), { parentId: idOf(one, 'F3'), index: 0 })
  fill(other, idOf(other, 'F1'), 'new here')
  await settle(one)
  other.forget()
  return [one, other]
}

for (const areOne of [true, false]) {
  t.test(`Nothing is changed before the user has decided about copies: ${areOne ? 'one' : 'both'}`, async (t) => {
    const [one, other] = await forgotten()
    const before = [textOf(one), textOf(other)]
    await settle(one, other)
    t.same([textOf(one), textOf(other)], before)
    t.match(other.browserSync.status(), { state: 'waiting', copies: 23 })
    const copies = other.browserSync.copies()
    t.match(copies.slice(0, 3), [
      { here: 'Bookmarks bar › F1', elsewhere: 'Bookmarks bar › Renamed' },
      { here: 'Bookmarks bar › F2', elsewhere: 'Other bookmarks › F2' },
      { here: 'Bookmarks bar › moved', elsewhere: 'F3 › moved' },
    ])
    // A new worker must ask again.
    other.open()
    await settle(other)
    await other.browserSync.decideCopies(
      copies.map(({ id }) => id),
      areOne,
    )
    await settle(one, other)
    t.same(textOf(other), textOf(one))
    t.same([one.sync.conflicts(), other.sync.conflicts()], [[], []])
    const count = [...one.sync.bookmarks().values()].filter(({ url }) => url).length
    t.equal(count, areOne ? 33 : 33 + 21)
    if (!areOne) return
    t.same(titlesIn(other, '1'), ['Renamed', 'F3', 'kept'])
    t.equal(titlesIn(other, idOf(other, 'Renamed')).at(-1), 'new here')
  })
}

t.test('Two browsers with any bookmarks end up the same after any answers, and no address is lost', async (t) => {
  const tree = fc.array(
    fc.record({
      title: fc.constantFrom('a', 'b', 'c'),
      isFolder: fc.boolean(),
      address: fc.constantFrom('a', 'b', 'c', 'd'),
      under: fc.nat(6),
    }),
    { minLength: 1, maxLength: 14 },
  )
  await fc.assert(
    fc.asyncProperty(tree, tree, fc.infiniteStream(fc.nat(40)), async (first, second, dice) => {
      const devices = await twoDevices()
      const urls = new Set<string>()
      for (const [index, { model }] of devices.entries()) {
        const folders = ['1', '2']
        for (const { title, isFolder, address, under } of index === 0 ? first : second) {
          const parentId = folders[under % folders.length] as string
          if (isFolder) folders.push(model.create({ parentId, title }).id)
          else urls.add(model.create({ parentId, title, url: at(address) }).url as string)
        }
      }
      await settle(...devices)
      for (const device of devices) {
        for (let copies = device.browserSync.copies(); copies.length > 0; copies = device.browserSync.copies()) {
          // The user may have been shown fewer than there are by now, and the worker may die at any step.
          const ids = copies.slice(copies.length > 1 ? 1 : 0).map(({ id }) => id)
          const { life } = device
          life.callsLeft = dice.next().value
          await Promise.race([device.browserSync.decideCopies(ids, life.callsLeft % 2 === 0), life.died])
          life.callsLeft = Number.POSITIVE_INFINITY
          if (!life.isDead) continue
          device.open()
          await device.step()
        }
      }
      await settle(...devices)
      t.same(differences(devices), [])
      for (const device of devices) {
        t.same(device.sync.conflicts(), [])
        const shown = device.model.ordinary.flatMap(({ url }) => url ?? [])
        t.same(new Set(shown), urls)
      }
    }),
    { numRuns: depth(8, 300) },
  )
})
