import t, { type Test } from 'tap'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Meta } from '../../../src/client/sync/store/store.ts'
import { bookmark, openPeople, send, sync, update } from './device.ts'
import { up } from './network.ts'

const people = await openPeople()

/** A laptop that has sent `x`, and another machine on which its disk was put; and a phone. */
async function copied(t: Test) {
  const person = await people.person(t)
  const disk = memoryStore()
  const [laptop, phone] = [person.device(id, { store: disk }), person.device('phone')]
  await send(laptop, bookmark('x', 'as it was', { description: 'as it was' }), phone)
  const put = async () => {
    const store = memoryStore()
    const { rows, meta } = await disk.load()
    await store.write(rows, meta as Meta)
    return person.device(id, { store })
  }
  return { laptop, phone, copy: await put(), put }
}

const id = 'laptop-01a21d75-ecd0-7000-8000-000000000000'

t.test('edits of different fields on two copies are merged', async (t) => {
  const { laptop, copy, phone } = await copied(t)
  await laptop.sync.update('x', { title: "the laptop's" })
  await copy.sync.update('x', { description: "the copy's" })
  await sync(laptop, copy, laptop, phone)
  for (const { sync, conflicts } of [laptop, copy, phone]) {
    t.match(sync.get('x'), { title: "the laptop's", description: "the copy's" })
    t.same(conflicts, [])
  }
})

t.test('edits of one field, or an edit and a delete: the copy that loses is told', async (t) => {
  for (const patch of [{ title: "the copy's" }, null]) {
    const { laptop, copy } = await copied(t)
    await laptop.sync.update('x', { title: "the laptop's" })
    await (patch ? copy.sync.update('x', patch) : copy.sync.remove('x'))
    await sync(laptop, copy, laptop)
    t.equal(laptop.sync.get('x')?.title, patch?.title)
    t.match(laptop.conflicts, [{ mine: { title: "the laptop's" } }])
  }
})

t.test('each copy has an id of its own from then on, for good, and no more', async (t) => {
  const { laptop, copy, put } = await copied(t)
  await sync(copy)
  t.equal(copy.sync.deviceId, id, 'a copy that hears of nothing keeps it')
  await laptop.sync.put(bookmark('a', "the laptop's"))
  await copy.sync.put(bookmark('b', "the copy's"))
  const ids = () => [laptop.sync.deviceId, copy.sync.deviceId]
  await sync(laptop, copy, laptop)
  const [own, taken = ''] = ids()
  t.equal(own, id, 'the laptop has heard of nothing that it has not made')
  t.match(taken, /^laptop-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'the name stays')
  t.not(taken, id)
  for (const { sync } of [laptop, copy, laptop, copy]) {
    await sync.update('x', { title: sync.deviceId })
    await sync.syncNow()
  }
  t.same(ids(), [own, taken])
  const third = await put()
  await send(laptop, bookmark('c', "the laptop's"), third)
  t.equal(new Set([...ids(), third.sync.deviceId]).size, 3)
})

t.test('two copies that notice at once take different ids', async (t) => {
  const { laptop, copy } = await copied(t)
  await laptop.sync.put(bookmark('a', "the laptop's"))
  await copy.sync.put(bookmark('b', "the copy's"))
  copy.network.fate = async (call) => {
    const answer = await call.send()
    if (call.name !== 'pull') return answer
    copy.network.fate = up
    await sync(laptop)
    return answer
  }
  await sync(copy, laptop, copy)
  t.equal(new Set([id, laptop.sync.deviceId, copy.sync.deviceId]).size, 3)
})

t.test('an older state of the disk: nothing is lost, and no conflict is told of what was made on it', async (t) => {
  const { laptop, put } = await copied(t)
  const older = await put()
  for (const title of ['later', 'last']) await send(laptop, bookmark('x', title))
  await laptop.sync.stop()
  await sync(older)
  t.equal(older.sync.get('x')?.title, 'last')
  await update(older, 'x', { description: 'and on' }, older)
  t.match(older.sync.get('x'), { title: 'last', description: 'and on' })
  t.same(older.conflicts, [])
})
