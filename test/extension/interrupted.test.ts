import t from 'tap'
import { StorageFullError } from '../../src/client/errors.ts'
import type { NewNode } from '../../src/extension/browser-api.ts'
import { type Device, settle, shownIn, twoDevices } from './device.ts'

const at = (path: string) => `https://example.org/${path}`
const theirs = { parentId: '1', title: 'Theirs' }
const theirLink = { ...theirs, url: at('theirs') }

/**
 * Two browsers. The first one creates the node. In the second one, the worker dies while it creates that node, too.
 *
 * @param isMade true if it dies after the browser has created the node
 */
async function interrupt(
  node: NewNode,
  isMade: boolean,
  prepare: (one: Device, other: Device) => Promise<unknown> = settle,
): Promise<[Device, Device]> {
  const [one, other] = await twoDevices()
  await prepare(one, other)
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

const made = (device: Device) => device.model.childrenOf('1')[0] ?? ''

t.test('A node that the user creates after a worker has died is not taken for the one it was creating', async (t) => {
  // The user creates the node before a new worker runs, so no worker receives the event.
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

t.test('A node that the user creates and removes after a worker has died is not the one it was creating', async (t) => {
  const devices = await interrupt(theirLink, false)
  const [, { model }] = devices
  devices[1].open()
  model.remove(model.create({ ...theirLink, url: at('mine') }).id)
  const link = [`  Theirs ${at('theirs')}`]
  t.same(await shownIn(devices), [link, link])
})

t.test('An older node that the user removes is not the one that a dead worker was creating', async (t) => {
  let old = ''
  const devices = await interrupt(theirLink, false, async (one, other) => {
    const { id } = other.model.create({ parentId: '1', title: 'Out' })
    await settle(one, other)
    await other.browserSync.leaveOut(id)
    old = other.model.create({ ...theirLink, parentId: id }).id
    await settle(one, other)
  })
  devices[1].open()
  devices[1].model.remove(old)
  const shown = ['  Out/', `  Theirs ${at('theirs')}`]
  t.same(await shownIn(devices), [shown, shown])
})

t.test('A node that a worker created before it died is recognized, even if the user edits or removes it', async (t) => {
  const result = async (node: NewNode, edit: (model: Device['model'], id: string) => unknown) => {
    const devices = await interrupt(node, true)
    devices[1].open()
    edit(devices[1].model, made(devices[1]))
    return (await shownIn(devices))[0]
  }
  t.same(await result(theirs, (model, id) => model.update(id, { title: 'Renamed' })), ['  Renamed/'])
  const changed = await result(theirLink, (model, id) => model.update(id, { url: at('changed') }))
  t.same(changed, [`  Theirs ${at('changed')}`])
  t.same(await result(theirLink, (model, id) => model.move(id, { parentId: '2' })), [`  Theirs ${at('theirs')}`])
  t.same(await result(theirLink, (model, id) => model.remove(id)), [])
})

t.test('A bookmark that a dying worker was adding to the service is added once, even if edited then', async (t) => {
  for (const isAdded of [false, true]) {
    const devices = await twoDevices()
    const [one, other] = devices
    await settle(one, other)
    one.model.create(theirLink)
    const { put } = one.sync
    one.sync.put = async (list) => {
      if (Array.isArray(list) && list.length === 0) return put(list)
      one.sync.put = put
      if (isAdded) await put(list)
      one.life.kill()
    }
    await Promise.race([one.browserSync.compareNow(), one.life.died])
    one.open()
    one.model.update(made(one), { title: 'Renamed' })
    const renamed = [`  Renamed ${at('theirs')}`]
    t.same(await shownIn(devices), [renamed, renamed])
  }
})

t.test('A bookmark that a dead worker had not created yet stays if the user removes its folder', async (t) => {
  const devices = await twoDevices()
  const [one, other] = devices
  await settle(one, other)
  one.model.create({ ...theirLink, parentId: one.model.create(theirs).id })
  await settle(one)
  await other.sync.syncNow()
  await other.sync.put([])
  const create = other.model.create.bind(other.model)
  other.model.create = (node) => {
    // The worker dies as it creates the next node, the one in the folder.
    other.life.callsLeft = 0
    return create(node)
  }
  await Promise.race([other.browserSync.compareNow(), other.life.died])
  other.model.create = create
  other.open()
  other.model.remove(made(other))
  t.same(await shownIn(devices), Array(2).fill([`    Theirs ${at('theirs')}`, '  Theirs/']))
})

t.test('Rows that could not be stored are stored by the next comparison, before the worker dies', async (t) => {
  const devices = await twoDevices()
  const [one, other] = devices
  await settle(one, other)
  one.model.create(theirLink)
  await settle(one)
  await other.sync.syncNow()
  const { write } = other.agreed
  const create = other.model.create.bind(other.model)
  other.model.create = (node) => {
    other.agreed.write = async () => {
      other.agreed.write = write
      throw new StorageFullError()
    }
    return create(node)
  }
  await other.browserSync.compareNow()
  other.model.create = create
  t.match(other.browserSync.status(), { state: 'failed', error: { name: 'StorageFullError' } })
  await other.browserSync.compareNow()
  other.life.kill()
  other.model.update(made(other), { title: 'Renamed', url: at('renamed') })
  other.open()
  const renamed = [`  Renamed ${at('renamed')}`]
  t.same(await shownIn(devices), [renamed, renamed])
})
