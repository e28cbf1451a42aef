import t from 'tap'
import { StorageFullError } from '../../src/client/errors.ts'
import type { NewNode } from '../../src/extension/browser-api.ts'
import { type Device, settle, shownIn, twoDevices } from './device.ts'

const at = (path: string) => `https://example.org/${path}`
const theirs = { parentId: '1', title: 'Theirs' }
const theirLink = { ...theirs, url: at('theirs') }

/** Two browsers. In the second one, the worker dies while it creates the first one's bookmarks. */
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

t.test('What the user creates once a worker has died is not taken for what that worker was creating', async (t) => {
  // No worker lives long enough to receive the event.
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

t.test('What the user removes that was there before is not what a worker was creating', async (t) => {
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

t.test('What a worker has created before it died is found again, changed, moved or removed by the user', async (t) => {
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

t.test('What a worker was adding to the service when it died comes there once, though changed then', async (t) => {
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

t.test('What a worker had not yet created in a folder stays if the user removes that folder', async (t) => {
  const devices = await twoDevices()
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
  t.same(await shownIn(devices), Array(2).fill([`    Theirs ${at('theirs')}`, '  Theirs/']))
})

t.test('What could not be stored is stored by the next comparison, before the worker dies', async (t) => {
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
