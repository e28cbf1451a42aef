import t from 'tap'
import type { NewNode } from '../../../src/client/extension/platform.ts'
import { fakeService } from '../../../src/client/testing.ts'
import { Device, settle, textOf } from './device.ts'

const at = (path: string) => `https://example.org/${path}`
const theirs = { parentId: '1', title: 'Theirs' }
const theirLink = { ...theirs, url: at('theirs') }
const own = ['Bookmarks bar/', 'Other bookmarks/']
/** Longer than a browser leaves anything unsaved. */
const saveMs = 30_000

/** Two browsers; in the second one the worker dies while it creates what the first one has. */
async function interrupt(node: NewNode, isMade: boolean): Promise<[Device, Device]> {
  const service = fakeService()
  const [one, other] = [new Device(service, 'one'), new Device(service, 'other')]
  await settle(one, other)
  one.model.create(node)
  await settle(one)
  await other.sync.syncNow()
  const { agreed } = other
  const write: typeof agreed.write = async (change) => {
    await agreed.write(change)
    const isAnnounced = [...change.rows.values()].some((row) => row?.step?.kind === 'creating')
    if (isAnnounced) Object.assign(other.life, { callsLeft: 0, finishesLast: isMade })
  }
  other.agreed = { ...agreed, write }
  other.open()
  await other.sync.put([])
  await Promise.race([other.browserSync.compareNow(), other.life.died])
  other.agreed = agreed
  return [one, other]
}

async function shownIn(devices: [Device, Device]): Promise<string[][]> {
  await settle(...devices)
  return devices.map((device) =>
    textOf(device)
      .filter((line) => !own.includes(line))
      .sort(),
  )
}

const made = (device: Device) => device.model.childrenOf('1')[0] ?? ''

t.test('What the user creates once a worker has died is not taken for what that worker was creating', async (t) => {
  // No worker lives long enough to hear of it.
  const result = async (theirs: NewNode, mine: NewNode) => {
    const devices = await interrupt(theirs, false)
    devices[1].model.create(mine)
    devices[1].open()
    return shownIn(devices)
  }
  const folders = ['  Mine/', '  Theirs/']
  t.same(await result(theirs, { ...theirs, title: 'Mine' }), [folders, folders])
  const links = [`  Theirs ${at('mine')}`, `  Theirs ${at('theirs')}`]
  t.same(await result(theirLink, { parentId: '2', title: 'Theirs', url: at('mine') }), [links, links])
})

t.test('What the user creates and removes once a worker has died is not what that worker was creating', async (t) => {
  const devices = await interrupt(theirLink, false)
  const [, { model }] = devices
  devices[1].open()
  model.remove(model.create({ ...theirLink, url: at('mine') }).id)
  const link = [`  Theirs ${at('theirs')}`]
  t.same(await shownIn(devices), [link, link])
})

t.test('What a worker has created before it died is found again, changed, moved or removed by the user', async (t) => {
  const result = async (node: NewNode, edit: (model: Device['model'], id: string) => unknown) => {
    const devices = await interrupt(node, true)
    devices[1].open()
    edit(devices[1].model, made(devices[1]))
    return (await shownIn(devices))[0]
  }
  t.same(
    [
      await result(theirs, (model, id) => model.update(id, { title: 'Renamed' })),
      await result(theirLink, (model, id) => model.update(id, { url: at('changed') })),
      await result(theirLink, (model, id) => model.move(id, { parentId: '2' })),
      await result(theirLink, (model, id) => model.remove(id)),
    ],
    [['  Renamed/'], [`  Theirs ${at('changed')}`], [`  Theirs ${at('theirs')}`], []],
  )
})

t.test('What a worker had not yet created in a folder stays if the user removes that folder', async (t) => {
  const service = fakeService()
  const devices: [Device, Device] = [new Device(service, 'one'), new Device(service, 'other')]
  const [one, other] = devices
  await settle(one, other)
  one.model.create({ ...theirLink, parentId: one.model.create(theirs).id })
  await settle(one)
  await other.sync.syncNow()
  await other.sync.put([])
  const create = other.model.create.bind(other.model)
  other.model.create = (node) => {
    // It dies as it creates the next one.
    other.life.callsLeft = 0
    return create(node)
  }
  await Promise.race([other.browserSync.compareNow(), other.life.died])
  other.model.create = create
  other.open()
  other.model.remove(made(other))
  t.same(
    await shownIn(devices),
    [0, 1].map(() => [`    Theirs ${at('theirs')}`, '  Theirs/']),
  )
})

t.test('What a browser had not written down when it crashed is there again, and the same everywhere', async (t) => {
  const service = fakeService()
  const devices: [Device, Device] = [new Device(service, 'one'), new Device(service, 'other')]
  const [one, other] = devices
  const link = (title: string) => ({ parentId: '1', title, url: at(title) })
  const idOf = ({ model }: Device, title: string) => model.ordinary.find((node) => node.title === title)?.id as string
  for (const title of ['deleted', 'kept', 'edited', 'moved']) one.model.create(link(title))
  for (let round = 0; round < 3; round++) {
    await settle(one, other)
    for (const { model } of devices) model.ahead += saveMs
  }
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

t.test('What came shortly before a crash, and was changed, is as it was changed', async (t) => {
  const service = fakeService()
  const devices: [Device, Device] = [new Device(service, 'one'), new Device(service, 'other')]
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

t.test('A browser that is closed right after a sync takes what was changed elsewhere meanwhile', async (t) => {
  const service = fakeService()
  const devices: [Device, Device] = [new Device(service, 'one'), new Device(service, 'other')]
  const [one, other] = devices
  const link = (title: string) => ({ parentId: '1', title, url: at(title) })
  const idOf = ({ model }: Device, title: string) => model.ordinary.find((node) => node.title === title)?.id as string
  const rename = (device: Device, from: string, to: string) => device.model.update(idOf(device, from), { title: to })
  for (const title of ['renamed', 'moved', 'removed']) one.model.create(link(title))
  for (let round = 0; round < 3; round++) {
    await settle(one, other)
    for (const { model } of devices) model.ahead += saveMs
  }

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
  one.model.remove(idOf(one, 'own'))
  rename(one, 'renamed folder', 'renamed again')
  await settle(one)
  // It is closed before it compares.
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

t.test('What a user makes after a crash is not what the browser has lost, though it may have its id', async (t) => {
  const service = fakeService()
  const devices: [Device, Device] = [new Device(service, 'one'), new Device(service, 'other')]
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
  // The worker that has heard of it dies.
  other.open()
  t.same(await shownIn(devices), [
    ['  lost/', '  new/'],
    ['  lost/', '  new/'],
  ])

  const id = await crashWith('lost, too')
  t.equal(other.model.create({ parentId: '1', title: 'removed' }).id, id)
  other.open()
  other.model.remove(id)
  t.same((await shownIn(devices))[0], ['  lost, too/', '  lost/', '  new/'])
})

t.test('What was moved out of a left-out folder is another one, also if the browser is closed at once', async (t) => {
  const service = fakeService()
  const devices: [Device, Device] = [new Device(service, 'one'), new Device(service, 'other')]
  const [one] = devices
  const { id } = one.model.create(theirs)
  const link = one.model.create({ ...theirLink, parentId: id })
  for (let round = 0; round < 3; round++) {
    await settle(...devices)
    for (const { model } of devices) model.ahead += saveMs
  }
  await one.browserSync.leaveOut(id)
  one.model.move(link.id, { parentId: '2' })
  await settle(...devices)
  one.restart()
  await settle(...devices)
  await one.browserSync.takeIn(id)
  const lines = [`    Theirs ${at('theirs')}`, `  Theirs ${at('theirs')}`, '  Theirs/']
  t.same(await shownIn(devices), [lines, lines])
})
