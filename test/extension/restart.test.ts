import t from 'tap'
import { copyOf, type Device, idOf, settle, shownIn, textOf, titlesOf, twoDevices } from './device.ts'

const at = (path: string) => `https://example.org/${path}`
const link = (title: string) => ({ parentId: '1', title, url: at(title) })
const theirs = { parentId: '1', title: 'Theirs' }
const theirLink = { ...theirs, url: at('theirs') }
/** Longer (ms) than the extension expects changes to be unsaved. */
const saveMs = 30_000

/** Waits until no crash can undo anything. */
async function settleLong(devices: [Device, Device]): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await settle(...devices)
    for (const { model } of devices) model.ahead += saveMs
  }
}

t.test('Changes that a browser had not saved when it crashed come back, and are the same everywhere', async (t) => {
  const devices = await twoDevices()
  const [one, other] = devices
  for (const title of ['deleted', 'kept', 'edited', 'moved']) one.model.create(link(title))
  await settleLong(devices)
  const crash = other.model.save()
  one.model.create(link('theirs'))
  one.model.create({ parentId: '1', title: 'folder' })
  one.model.create({ ...link('inside'), parentId: idOf(one, 'folder') })
  one.model.update(idOf(one, 'kept'), { title: 'changed' })
  one.model.remove(idOf(one, 'deleted'))
  other.model.create(link('own'))
  other.model.update(idOf(other, 'edited'), { title: 'changed here' })
  other.model.move(idOf(other, 'moved'), { parentId: '2' })
  await settle(one, other)
  const before = textOf(one)
  t.same(textOf(other), before)
  other.crash(crash)
  await settle(one, other)
  t.same(devices.map(textOf), [before, before])
  other.crash(crash)
  other.model.create({ ...link('later'), parentId: '2' })
  await settle(one, other)
  const after = [...before, `  later ${at('later')}`]
  t.same(devices.map(textOf), [after, after], 'also if the browser gives an id once more')
})

t.test('A bookmark that came shortly before a crash and was then changed keeps the change', async (t) => {
  const devices = await twoDevices()
  const [one, other] = devices
  await settle(...devices)
  const [renamed, moved] = [one.model.create(theirLink), one.model.create(theirs)]
  await settle(...devices)
  const crash = other.model.save()
  one.model.update(renamed.id, { title: 'Renamed' })
  one.model.move(moved.id, { parentId: '1', index: 0 })
  one.model.move(renamed.id, { parentId: moved.id })
  await settle(...devices)
  other.crash(crash)
  const lines = [`    Renamed ${at('theirs')}`, '  Theirs/']
  t.same(await shownIn(devices), [lines, lines])
})

t.test('A bookmark stays the same one if a crash undoes its paste, but not its cut', async (t) => {
  const devices = await twoDevices()
  const [one] = devices
  const { id } = one.model.create(link('cut'))
  await settleLong(devices)
  const records = [...one.sync.bookmarks().keys()]
  const paste = copyOf(one.model, id)
  one.model.remove(id)
  const crash = one.model.save()
  paste('2')
  await settle(...devices)
  one.crash(crash)
  const lines = [`  cut ${at('cut')}`]
  t.same(await shownIn(devices), [lines, lines])
  t.same([...one.sync.bookmarks().keys()], records)
})

t.test('Bookmarks that an older bookmarks file lacks wait for an answer, however few they are', async (t) => {
  for (const isMeant of [false, true]) {
    const devices = await twoDevices()
    const [one, other] = devices
    for (const title of titlesOf(30)) one.model.create(link(title))
    await settleLong(devices)
    const older = one.model.save()
    for (const title of ['later', 'latest']) one.model.create(link(title))
    one.model.remove(idOf(one, 'b0'))
    await settleLong(devices)
    one.crash(older)
    // The worker dies before the user has answered.
    await settle(...devices)
    one.open()
    await settle(...devices)
    const held = one.browserSync.heldRemovals()
    t.same(
      held.map(({ title }) => title),
      ['later', 'latest'],
    )
    t.ok(idOf(other, 'latest'))
    if (isMeant) await one.browserSync.approveRemovals(held.map(({ id }) => id))
    else await one.browserSync.rejectRemovals()
    const isThere = (await shownIn(devices)).map((lines) => lines.includes(`  latest ${at('latest')}`))
    t.same(isThere, [!isMeant, !isMeant])
  }
})

t.test('A browser that was closed right after a sync applies the changes made elsewhere meanwhile', async (t) => {
  const devices = await twoDevices()
  const [one, other] = devices
  const rename = (device: Device, from: string, to: string) => device.model.update(idOf(device, from), { title: to })
  for (const title of ['renamed', 'moved', 'removed']) one.model.create(link(title))
  await settleLong(devices)

  // Later, because the user would be asked about deleting bookmarks that have just arrived.
  other.model.ahead += 600_000
  rename(other, 'renamed', 'renamed here')
  other.model.move(idOf(other, 'moved'), { parentId: '2' })
  other.model.remove(idOf(other, 'removed'))
  other.model.create(link('own'))
  one.model.create({ parentId: '1', title: 'folder' })
  one.model.create({ ...link('inside'), parentId: idOf(one, 'folder') })
  await settle(one, other)
  rename(one, 'folder', 'renamed folder')
  await settle(one, other)
  rename(one, 'renamed here', 'renamed there')
  one.model.move(idOf(one, 'moved'), { parentId: '1', index: 0 })
  one.model.create({ ...link('removed'), parentId: '2' })
  one.model.ahead += 600_000
  one.model.remove(idOf(one, 'own'))
  rename(one, 'renamed folder', 'renamed again')
  await settle(one)
  // The browser is closed before it compares.
  await other.sync.syncNow()
  other.restart()
  rename(other, 'renamed folder', 'renamed meanwhile')
  await settle(one, other)
  const lines = [
    ...['Bookmarks bar/', `  moved ${at('moved')}`, `  renamed there ${at('renamed')}`, '  renamed meanwhile/'],
    ...[`    inside ${at('inside')}`, 'Other bookmarks/', `  removed ${at('removed')}`],
  ]
  t.same(devices.map(textOf), [lines, lines])
})

t.test('A bookmark that the user creates after a crash is not taken for a lost one that had the same id', async (t) => {
  const devices = await twoDevices()
  const [, other] = devices
  await settle(...devices)
  const crashWith = async (title: string) => {
    const crash = other.model.save()
    const { id } = other.model.create({ parentId: '1', title })
    await settle(...devices)
    other.crash(crash)
    return id
  }
  t.equal(await crashWith('lost'), other.model.create({ parentId: '1', title: 'new' }).id)
  // The worker that received the event dies.
  other.open()
  t.same(await shownIn(devices), Array(2).fill(['  lost/', '  new/']))

  const id = await crashWith('lost, too')
  t.equal(other.model.create({ parentId: '1', title: 'removed' }).id, id)
  other.open()
  other.model.remove(id)
  t.same((await shownIn(devices))[0], ['  lost, too/', '  lost/', '  new/'])
})

t.test('A bookmark moved out of a left-out folder is a new one, even if the browser is closed at once', async (t) => {
  const devices = await twoDevices()
  const [one] = devices
  const { id } = one.model.create(theirs)
  const inside = one.model.create({ ...theirLink, parentId: id })
  await settleLong(devices)
  await one.browserSync.leaveOut(id)
  one.model.move(inside.id, { parentId: '2' })
  await settle(...devices)
  one.restart()
  await settle(...devices)
  await one.browserSync.takeIn(id)
  const lines = [`    Theirs ${at('theirs')}`, `  Theirs ${at('theirs')}`, '  Theirs/']
  t.same(await shownIn(devices), [lines, lines])
})

t.test('A browser does not lose a bookmark that is moved into a left-out folder and out again', async (t) => {
  for (const isCrash of [false, true]) {
    const devices = await twoDevices()
    const [one] = devices
    const { id } = one.model.create(theirs)
    const moved = one.model.create(link('moved'))
    await settleLong(devices)
    await one.browserSync.leaveOut(id)
    const crash = one.model.save()
    one.model.move(moved.id, { parentId: id })
    await settle(...devices)
    if (isCrash) one.crash(crash)
    else {
      one.model.move(moved.id, { parentId: '1' })
      one.restart()
    }
    await settle(...devices)
    const lines = [`  moved ${at('moved')}`]
    for (const shown of await shownIn(devices)) {
      t.same(
        shown.filter((line) => line.includes('moved')),
        lines,
        `crash: ${isCrash}`,
      )
    }
  }
})

t.test('If a browser has given its ids to other bookmarks, these are recognized by their contents', async (t) => {
  const devices = await twoDevices()
  const [one] = devices
  const titles = titlesOf(8)
  const ids = titles.map((title) => one.model.create(link(title)).id)
  await settleLong(devices)
  const titlesById = () => Object.fromEntries([...one.sync.bookmarks()].map(([id, { title }]) => [id, title]))
  const [before, shown] = [titlesById(), textOf(one)]
  for (const [index, id] of ids.entries()) {
    const title = titles[(index + 3) % titles.length] as string
    Object.assign(one.model.nodes.get(id) ?? {}, { title, url: at(title) })
  }
  const list = one.model.nodes.get('1')?.children
  list?.push(...list.splice(0, 5))
  t.same(textOf(one), shown)
  one.restart()
  await settle(...devices)
  t.same([titlesById(), ...devices.map(textOf)], [before, shown, shown])
})
