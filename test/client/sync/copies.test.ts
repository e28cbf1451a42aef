import t, { type Test } from 'tap'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Meta } from '../../../src/client/sync/store/store.ts'
import { backUp } from '../chaos/run.ts'
import { bookmark, openPeople, send, sync, update } from './device.ts'
import { up } from './network.ts'

const people = await openPeople()

/** A laptop that has sent `x`, another machine with a copy of its disk, and a phone. */
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
  return { person, laptop, phone, copy: await put(), put }
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

t.test('two copies edit one field, or one edits and one deletes: the losing copy gets a conflict', async (t) => {
  for (const patch of [{ title: "the copy's" }, null]) {
    const { laptop, copy } = await copied(t)
    await laptop.sync.update('x', { title: "the laptop's" })
    await (patch ? copy.sync.update('x', patch) : copy.sync.remove('x'))
    await sync(laptop, copy, laptop)
    t.equal(laptop.sync.get('x')?.title, patch?.title)
    t.match(laptop.conflicts, [{ mine: { title: "the laptop's" } }])
  }
})

for (const before of ['nothing', "another device's edit", "another device's edit that was merged"]) {
  t.test(
    `two copies edit one bookmark before either knows of the other, after ${before}: nothing is lost`,
    async (t) => {
      const { person, laptop, copy, phone } = await copied(t)
      if (before.endsWith('merged')) {
        await laptop.sync.update('x', { title: 'before' })
        await update(phone, 'x', { title: "the phone's" })
      }
      laptop.network.fate = async (call) => {
        const answer = await call.send()
        if (call.name !== 'pull') return answer
        laptop.network.fate = up
        if (before !== 'nothing') await update(phone, 'x', { description: "the phone's" }, copy)
        await update(copy, 'x', { url: 'https://example.org/' })
        await person.world.pass(1000)
        await laptop.sync.update('x', { title: "the laptop's" })
        return answer
      }
      await sync(laptop, copy, phone)
      const description = before === 'nothing' ? 'as it was' : "the phone's"
      const merged = { title: "the laptop's", description, url: 'https://example.org/' }
      for (const { sync } of [laptop, copy, phone]) t.match(sync.get('x'), merged)
      t.equal(laptop.network.sent.length, 3, 'sent once more')
    },
  )
}

t.test("a delete on one copy reports to the other its lost edit of a third device's version", async (t) => {
  const { person, laptop, copy, phone } = await copied(t)
  await copy.sync.update('x', { url: 'https://example.org/' })
  await update(phone, 'x', { description: "the phone's" })
  await person.world.pass(1000)
  await laptop.sync.remove('x')
  laptop.network.fate = async (call) => {
    if (call.name === 'push') {
      laptop.network.fate = up
      await sync(copy)
    }
    return up(call)
  }
  await sync(laptop, copy, phone)
  for (const { sync } of [laptop, copy]) t.equal(sync.get('x'), undefined)
  t.match(copy.conflicts, [{ mine: { description: "the phone's", url: 'https://example.org/' }, theirs: null }])
})

t.test('a copy edits on a restored service: the device whose edit the service had lost gets a conflict', async (t) => {
  const { person, laptop, copy, phone } = await copied(t)
  const putBack = await backUp(people.app, person.user.userId)
  await update(laptop, 'x', { title: "the laptop's" })
  await person.world.pass(60_000)
  await putBack()
  await update(copy, 'x', { title: "the copy's" })
  await sync(laptop, copy, phone, laptop)
  for (const { sync } of [laptop, copy, phone]) t.match(sync.get('x'), { title: "the copy's" })
  t.match(laptop.conflicts, [{ mine: { title: "the laptop's" }, theirs: { title: "the copy's" } }])
})

t.test("a copy does not take the other's version for a third device's with the same time", async (t) => {
  const { person, laptop, copy } = await copied(t)
  const desk = person.device('desk')
  await sync(desk)
  await update(desk, 'x', { title: "the desk's" }, copy)
  await copy.sync.update('x', { url: 'https://example.org/' })
  copy.network.fate = async (call) => {
    const answer = await call.send()
    if (call.name !== 'pull') return answer
    copy.network.fate = up
    await update(laptop, 'x', { title: "the laptop's" })
    return answer
  }
  await sync(copy, laptop, desk)
  for (const { sync } of [laptop, copy, desk])
    t.match(sync.get('x'), { title: "the laptop's", url: 'https://example.org/' })
})

for (const patch of [{ title: "the laptop's" }, null])
  t.test(
    `a ${patch ? 'edit' : 'delete'} that a restored service gets again is told to the copy that it replaces`,
    async (t) => {
      const { person, laptop, copy } = await copied(t)
      const putBack = await backUp(people.app, person.user.userId)
      await copy.sync.update('x', { title: "the copy's" })
      await person.world.pass(1000)
      await (patch ? laptop.sync.update('x', patch) : laptop.sync.remove('x'))
      await sync(laptop)
      await person.world.pass(60_000)
      await putBack()
      await sync(copy, laptop, copy)
      t.match(copy.conflicts, [{ mine: { title: "the copy's" } }])
    },
  )

t.test('a copy that sees versions it did not make takes a new device id, once', async (t) => {
  const { laptop, copy, put } = await copied(t)
  await sync(copy)
  t.equal(copy.sync.deviceId, id, 'a copy that sees no unknown version keeps the id')
  await laptop.sync.put(bookmark('a', "the laptop's"))
  await copy.sync.put(bookmark('b', "the copy's"))
  const ids = () => [laptop.sync.deviceId, copy.sync.deviceId]
  await sync(laptop, copy, laptop)
  const [own, taken = ''] = ids()
  t.equal(own, id, 'the laptop has seen only its own versions')
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

t.test('an unsent edit in an older disk image is sent again, and a later editor gets a conflict', async (t) => {
  const person = await people.person(t)
  const [disk, older] = [memoryStore(), memoryStore()]
  const skew = 7_200_000
  const [laptop, phone] = [person.device(id, { store: disk, skew }), person.device('phone')]
  await laptop.sync.put(bookmark('x', 'as it was'))
  const { rows, meta } = await disk.load()
  await older.write(rows, meta as Meta)
  await send(phone, bookmark('other', 'other'), laptop, phone)
  await laptop.sync.stop()
  await update(phone, 'x', { title: "the phone's" })
  await sync(person.device(id, { store: older, skew }), phone)
  t.match(phone.sync.get('x'), { title: 'as it was' })
  t.match(phone.conflicts, [{ mine: { title: "the phone's" }, theirs: { title: 'as it was' } }])
})

t.test('a device with an older disk image loses nothing, and its next edit makes no conflict', async (t) => {
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
