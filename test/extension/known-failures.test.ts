/**
 * The faults that users of other bookmark syncs report most often, each with three browsers of one person, in memory. At the end
 * of each, all three show the same in the same order: nothing is lost or duplicated, and no question is open.
 */
import t, { type Test } from 'tap'
import { memoryAgreedStore } from '../../src/extension/testing.ts'
import { depth } from '../support/depth.ts'
import { BrowserModel, type Flavour } from './browser-model.ts'
import { copyOf, type Device, differences, idOf, openDevices, recordOf, settle, textOf, titlesOf } from './device.ts'

type Three = [Device, Device, Device]

const at = (title: string) => `https://example.org/${title}`
const link = (title: string, indent = '  ') => `${indent}${title} ${at(title)}`
const inside = (title: string) => link(title, '    ')
const own = {
  chrome: { bar: '1', other: '2', menu: '2', mobile: '3' },
  firefox: { bar: 'toolbar_____', other: 'unfiled_____', menu: 'menu________', mobile: 'mobile______' },
}

/** The first browser is a Chrome, and shows the expected bookmarks at the end. */
function three(second: Flavour | BrowserModel = 'firefox', third: Flavour | BrowserModel = 'chrome'): Promise<Three> {
  return openDevices(['one'], ['two', second], ['three', third])
}

function add({ model }: Device, title: string, parentId: string = own[model.flavour].bar): void {
  model.create({ parentId, title, url: at(title) })
}

function addFolder(
  { model }: Device,
  title: string,
  titles: string[],
  parentId: string = own[model.flavour].bar,
): string {
  const { id } = model.create({ parentId, title })
  for (const inside of titles) model.create({ parentId: id, title: inside, url: at(inside) })
  return id
}

function rename(device: Device, title: string, to: string): void {
  device.model.update(idOf(device, title), { title: to })
}

function remove({ model }: Device, ids: readonly string[]): void {
  for (const id of [...ids]) model.removeTree(id)
}

/** Does the work while all devices are offline. Only afterwards, they receive each other's changes. */
async function apart(devices: readonly Device[], work: () => void | Promise<void>): Promise<void> {
  for (const { connection } of devices) connection.goOffline()
  await work()
  for (const device of devices) await device.step().catch(() => {})
  for (const { connection } of devices) connection.goOnline()
}

/** Lines that several devices added at one place: whose come first is open, but each device's stay together. */
function asPlaced(device: Device, runs: string[][]): string[] {
  const lines = textOf(device)
  const placeOf = ([first = '']: string[]) => lines.indexOf(link(first))
  const inOrder = runs.toSorted((one, other) => placeOf(one) - placeOf(other))
  return inOrder.flat().map((title) => link(title))
}

/** The numbers of this browser's and other devices' deletes about which its user is asked. */
function asked({ browserSync, sync }: Device): string {
  const { heldRemovals, heldDeletions } = { ...browserSync.status(), ...sync.status() }
  return `${heldRemovals?.count ?? 0} own, ${heldDeletions?.count ?? 0} others'`
}

async function end(t: Test, devices: Three, expected: string[]): Promise<void> {
  await settle(...devices)
  t.same(differences(devices), [], 'all show the same')
  t.same(textOf(devices[0]), expected)
  t.same(devices.map(asked), Array(3).fill("0 own, 0 others'"), 'no question is open')
  for (const { sync } of devices) t.same(sync.conflicts(), [])
}

t.test('Duplicates: three filled browsers meet, and workers die in the first sync', async (t) => {
  const devices = await three()
  for (const [index, device] of devices.entries()) {
    const folder = addFolder(device, 'F', index === 1 ? ['c', 'b', 'a'] : ['a', 'b', 'c'])
    for (const title of ['twice', 'twice', '']) add(device, title, folder)
    add(device, `only-${index}`)
  }
  for (const device of devices) {
    for (const call of [3, 7, 12]) {
      Object.assign(device.life, { callsLeft: call, finishesLast: call !== 7 })
      await Promise.race([device.step(), device.life.died])
      device.open()
    }
  }
  const folder = ['  F/', ...['a', 'b', 'c', 'twice', 'twice', ''].map(inside)]
  await settle(...devices)
  const only = asPlaced(devices[0], [['only-0'], ['only-1'], ['only-2']])
  const lines = ['Bookmarks bar/', ...folder, ...only, 'Other bookmarks/']
  await end(t, devices, lines)
  devices[1].agreed = memoryAgreedStore()
  devices[1].open()
  // Nothing is duplicated after the extension is installed again, either.
  await end(t, devices, lines)
})

t.test('Order lost: one browser reverses its order, then all three append bookmarks while offline', async (t) => {
  const devices = await three()
  const [one] = devices
  const titles = titlesOf(12)
  for (const title of titles) add(one, title)
  await settle(...devices)
  const { model } = one
  for (const [index, title] of titles.toReversed().entries()) model.move(idOf(one, title), { parentId: '1', index })
  await settle(...devices)
  const runs = devices.map((_, device) => [0, 1, 2].map((number) => `run-${device}-${number}`))
  await apart(devices, () => {
    for (const [index, device] of devices.entries()) for (const title of runs[index] ?? []) add(device, title)
  })
  await settle(...devices)
  const lines = titles.toReversed().map((title) => link(title))
  await end(t, devices, ['Bookmarks bar/', ...lines, ...asPlaced(one, runs), 'Other bookmarks/'])
})

t.test('Everything deleted: a browser loses its bookmarks, then another device deletes all', async (t) => {
  const devices = await three()
  const [one, two, third] = devices
  addFolder(one, 'F', titlesOf(20))
  add(one, 'z', '2')
  await settle(...devices)
  const all = textOf(one)
  for (const { model } of devices) model.ahead += 3_600_000

  remove(
    two,
    ['toolbar_____', 'unfiled_____'].flatMap((root) => two.model.childrenOf(root)),
  )
  await settle(...devices)
  t.same(devices.map(asked), ["0 own, 0 others'", "22 own, 0 others'", "0 own, 0 others'"], 'its user is asked')
  await two.browserSync.rejectRemovals()
  await end(t, devices, all)

  await third.sync.remove([...third.sync.bookmarks().values()].flatMap(({ id, url }) => (url ? [id] : [])))
  await settle(...devices)
  t.same([one, two].map(asked), Array(2).fill("0 own, 21 others'"), 'the users of the other two are asked')
  await one.sync.rejectDeletions()
  await two.sync.rejectDeletions()
  await end(t, devices, all)
})

t.test('Separators: a browser without them moves the bookmarks around those of the other two', async (t) => {
  const devices = await three('firefox', 'firefox')
  const [chrome, one, two] = devices
  for (const title of ['a', 'b', 'c']) {
    add(one, title)
    one.model.create({ parentId: own.firefox.bar, title: '', type: 'separator' })
  }
  await settle(...devices)
  const { model } = chrome
  model.move(idOf(chrome, 'c'), { parentId: '1', index: 0 })
  rename(chrome, 'b', 'renamed')
  await settle(...devices)
  const separators = () => two.model.ordinary.filter(({ type }) => type === 'separator').map(({ id }) => id)
  t.equal(separators().length, 3)
  // After five minutes, removing a node that the extension created does not count as Chrome's Undo.
  two.model.ahead += 300_000
  remove(two, separators().slice(0, 1))
  await end(t, devices, ['Bookmarks bar/', link('c'), link('a'), `  renamed ${at('b')}`, 'Other bookmarks/'])
  t.equal(separators().length, 2)
})

t.test('Profile copies: a copy with the same device id runs beside the original', async (t) => {
  const [one, two] = await three()
  for (const title of titlesOf(8)) add(one, title)
  await settle(one, two)
  const copy = await one.copy()
  remove(one, [idOf(one, 'b1')])
  rename(one, 'b2', 'by-one')
  await settle(one, two)
  await apart([one, copy], () => {
    rename(copy, 'b3', 'by-the-copy')
    remove(copy, [idOf(copy, 'b4')])
    rename(one, 'b5', 'by-one-too')
    add(one, 'one', '2')
    add(copy, 'copy', '2')
  })
  const renamed = [`  by-one ${at('b2')}`, `  by-the-copy ${at('b3')}`, `  by-one-too ${at('b5')}`]
  const lines = [link('b0'), ...renamed, link('b6'), link('b7')]
  await settle(one, two, copy)
  const added = asPlaced(one, [['one'], ['copy']])
  await end(t, [one, two, copy], ['Bookmarks bar/', ...lines, 'Other bookmarks/', ...added])
})

t.test("Two tools at once: the browsers' own sync adds the same, then a tool that sorts recreates all", async (t) => {
  const devices = await three()
  const [one, two, other] = devices
  const titles = ['d', 'b', 'a', 'c', 'f', 'e', 'h', 'g']
  await apart(devices, () => {
    for (const device of [one, other]) addFolder(device, 'F', titles)
  })
  await settle(...devices)
  const ids = titles.map((title) => recordOf(one, title))
  for (const { model } of devices) model.ahead += 3_600_000
  const copies = titles.toSorted().map((title) => copyOf(two.model, idOf(two, title)))
  remove(two, [idOf(two, 'F')])
  const sorted = addFolder(two, 'Sorted', [])
  for (const paste of copies) paste(sorted)
  await end(t, devices, ['Bookmarks bar/', '  Sorted/', ...titles.toSorted().map(inside), 'Other bookmarks/'])
  t.same(
    titles.map((title) => recordOf(one, title)),
    ids,
    'they are the same bookmarks',
  )
})

t.test('Offline for weeks: a laptop comes back after edits on both sides, and a delete of most', async (t) => {
  const devices = await three()
  const [one, two, laptop] = devices
  addFolder(one, 'F', titlesOf(20))
  await settle(...devices)
  laptop.connection.goOffline()
  for (const week of [0, 1, 2]) {
    for (const { model } of devices) model.ahead += 7 * 86_400_000
    add(laptop, `laptop-${week}`)
    rename(laptop, `b${week}`, `changed-${week}`)
    laptop.restart()
    await laptop.step().catch(() => {})
    add(one, `one-${week}`)
    rename(one, `b${week + 3}`, `changed-${week + 3}`)
    await settle(one, two)
  }
  remove(
    one,
    titlesOf(20)
      .slice(6)
      .map((title) => idOf(one, title)),
  )
  await settle(one)
  await one.browserSync.approveRemovals(one.browserSync.heldRemovals().map(({ id }) => id))
  for (const device of [two, laptop]) {
    device.connection.goOnline()
    await settle(one, device)
    t.equal(asked(device), "0 own, 14 others'")
    await device.sync.approveDeletions(device.sync.heldDeletions().map(({ id }) => id))
  }
  await settle(...devices)
  const folder = ['  F/', ...[0, 1, 2, 3, 4, 5].map((n) => `    changed-${n} ${at(`b${n}`)}`)]
  const runs = ['one', 'laptop'].map((name) => [0, 1, 2].map((week) => `${name}-${week}`))
  const added = asPlaced(one, runs)
  await end(t, devices, ['Bookmarks bar/', ...folder, ...added, 'Other bookmarks/'])
})

t.test('Huge trees: thousands in folders, half of them in two browsers before they meet', async (t) => {
  const devices = await three()
  const [one, two] = devices
  const folders = Array.from({ length: depth(15, 500) }, (_, index) => `f${index}`)
  const titlesIn = (folder: string) => titlesOf(20).map((title) => `${folder}-${title}`)
  for (const folder of folders) addFolder(one, folder, titlesIn(folder))
  for (const folder of folders.slice(folders.length / 2)) addFolder(two, folder, titlesIn(folder))
  await settle(...devices)
  const [first = '', ...others] = folders
  two.model.move(idOf(two, first), { parentId: own.firefox.other })
  const linesOf = (folder: string) => [`  ${folder}/`, ...titlesIn(folder).map(inside)]
  await end(t, devices, ['Bookmarks bar/', ...others.flatMap(linesOf), 'Other bookmarks/', ...linesOf(first)])
})

t.test("Renamed roots: another language, the web page's rename, a folder with such a name", async (t) => {
  const german = new BrowserModel('chrome')
  for (const [id, title] of [
    ['1', 'Lesezeichenleiste'],
    ['2', 'Weitere Lesezeichen'],
  ] as const) {
    const root = german.nodes.get(id)
    if (root) root.title = title
  }
  const devices = await three('firefox', german)
  const [one, two] = devices
  for (const [index, device] of devices.entries()) {
    add(device, `bar-${index}`)
    add(device, `other-${index}`, own[device.model.flavour].other)
  }
  await settle(...devices)
  await two.sync.update(recordOf(two, 'Bookmarks bar'), { title: 'Mine' })
  addFolder(two, 'Bookmarks bar', ['inside'], own.firefox.other)
  const lines = (name: string) => [0, 1, 2].map((index) => link(`${name}-${index}`))
  const folder = ['  Bookmarks bar/', inside('inside')]
  await end(t, devices, ['Bookmarks bar/', ...lines('bar'), 'Other bookmarks/', ...lines('other'), ...folder])
  t.equal(one.sync.get(recordOf(one, 'Mine'))?.attributes?.personal_toolbar_folder, 'true')
})

t.test('Mobile roots: one browser has that folder, one gets it later, one has a menu as well', async (t) => {
  const devices = await three('firefox', new BrowserModel('chrome', { hasMobile: true }))
  const [one, firefox, chrome] = devices
  add(firefox, 'phone', own.firefox.mobile)
  add(firefox, 'menu', own.firefox.menu)
  add(chrome, 'tablet', own.chrome.mobile)
  await settle(...devices)
  add(one, 'from-one', idOf(one, 'Mobile Bookmarks'))
  const menu = ['  Bookmarks Menu/', inside('menu')]
  const titles = ['phone', 'tablet', 'from-one']
  const ordinary = [...menu, '  Mobile Bookmarks/', ...titles.map(inside)]
  await end(t, devices, ['Bookmarks bar/', 'Other bookmarks/', ...ordinary])
  one.model.showMobile()
  add(one, 'later', '3')
  const mobile = ['Mobile bookmarks/', ...[...titles, 'later'].map((title) => link(title))]
  await end(t, devices, ['Bookmarks bar/', 'Other bookmarks/', ...menu, ...mobile])
})
