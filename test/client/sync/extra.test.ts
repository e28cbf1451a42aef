import t from 'tap'
import { z } from 'zod'
import { defineExtra } from '../../../src/client/extra.ts'
import { undoable } from '../../../src/client/undo.ts'
import { bookmark, openPeople, send, sync } from './device.ts'

const people = await openPeople()

const reading = defineExtra(
  z.object({
    stars: z.number().min(1).max(5),
    readAt: z.iso
      .date()
      .transform((day) => new Date(day))
      .optional(),
  }),
)

t.test('extra data is stored as written, and read as the schema says', async (t) => {
  const { a, b } = await people.open(t)
  await send(a, bookmark('x', 'one', { extra: reading.write({ stars: 4, readAt: '2026-11-27' }) }), b)
  t.same(b.sync.get('x')?.extra, { stars: 4, readAt: '2026-11-27' })
  const read: { stars: number; readAt?: Date | undefined } | undefined = reading.read(b.sync.get('x')?.extra)
  t.same(read, { stars: 4, readAt: new Date('2026-11-27') })
  // @ts-expect-error: a date is read, and text is written
  t.throws(() => reading.write({ stars: 4, readAt: new Date() }), { name: 'ExtraError' })
})

t.test('a change keeps fields that the schema does not know, on all devices, and can be undone', async (t) => {
  const { a, b } = await people.open(t)
  await send(a, bookmark('x', 'one', { extra: { colour: 'red', stars: 1 } }), b)
  const edits = undoable(a.sync)
  await edits.update('x', ({ extra }) => ({ extra: reading.patch(extra, { stars: 2, readAt: '2026-11-27' }) }))
  await b.sync.update('x', ({ extra }) => ({ extra: { ...extra, shelf: 7 } }))
  await sync(a, b, a)
  const merged = { colour: 'red', shelf: 7, stars: 2 }
  t.same(a.sync.get('x')?.extra, { ...merged, readAt: '2026-11-27' })
  await edits.update('x', ({ extra }) => ({ extra: reading.patch(extra, { readAt: undefined }) }))
  t.same(a.sync.get('x')?.extra, merged)
  const counts = defineExtra(z.record(z.string(), z.number()))
  t.same(counts.patch({ a: 1, b: 2 }, { a: undefined }), { b: 2 })
  await edits.undo()
  await edits.undo()
  t.same(a.sync.get('x')?.extra, { ...merged, stars: 1 })
})

t.test('data that does not match the schema is refused with the paths, and no bookmark changes', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put(['x', 'y'].map((id) => bookmark(id, 'one', { extra: reading.write({ stars: id === 'x' ? 4 : 5 }) })))
  const before = new Map(a.sync.bookmarks())
  const more = a.sync.update(['x', 'y'], ({ extra }) => {
    const { stars = 0 } = reading.read(extra) ?? {}
    return { extra: reading.patch(extra, { stars: stars + 1 }) }
  })
  await t.rejects(more, { name: 'ExtraError', message: /^extra\.stars: /, issues: [{ path: ['stars'] }] })
  t.same(new Map(a.sync.bookmarks()), before)
  const issues = [{ message: 'is no link', path: ['links', 0, { key: 'url' }] }, { message: 'is empty' }]
  const strict = defineExtra({ '~standard': { version: 1, vendor: 'own', validate: () => ({ issues }) } })
  t.throws(() => strict.write({}), { message: 'extra.links.0.url: is no link; extra: is empty', issues })
})

t.test('data of another app is not read, and stays', async (t) => {
  const { a } = await people.open(t)
  const extra = { stars: 'many' }
  await a.sync.put(bookmark('x', 'one', { extra }))
  t.equal(reading.read(a.sync.get('x')?.extra), undefined)
  await a.sync.update('x', { title: 'other' })
  t.same(a.sync.get('x')?.extra, { stars: 'many' })
  t.throws(() => reading.patch(a.sync.get('x')?.extra, { readAt: '2026-11-27' }), { name: 'ExtraError' })
  t.same(reading.patch(a.sync.get('x')?.extra, { stars: 3 }), { stars: 3 })
  t.equal(reading.read(undefined), undefined)
  t.same(defineExtra(z.object({ stars: z.number().default(3) })).read(undefined), { stars: 3 })
})

t.test('an asynchronous schema is refused at once', async (t) => {
  const slow = defineExtra(z.object({ stars: z.number().refine(async () => true) }))
  t.throws(() => slow.read({ stars: 1 }), TypeError)
  t.throws(() => slow.write({ stars: 1 }), TypeError)
})
