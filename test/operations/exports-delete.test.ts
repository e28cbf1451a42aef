import t from 'tap'
import { gated } from '../exports/fixture.ts'
import { until } from '../support/until.ts'
import { list, make, openExports, path, testOnStores } from './exports-fixture.ts'

testOnStores(t, async (t, store) => {
  const { begin } = await openExports(t, await store.env(t))

  t.test('DELETE removes the export, and its file from the disk', async (t) => {
    const { ada, files } = await begin(t)
    const [kept, gone] = [await make(ada), await make(ada)]
    t.equal((await files()).length, 2)
    const { status, body } = await ada.call('DELETE', `${path}/${gone.id}`)
    t.equal(status, 200)
    t.strictSame(body, { success: true })
    t.strictSame(await files(), [`${kept.id}.1`])
    t.strictSame(await list(ada), [kept])
    for (const method of ['GET', 'DELETE']) {
      t.equal((await ada.call(method, `${path}/${gone.id}`)).status, 404, `${method} afterwards`)
    }
  })

  t.test('DELETE of an export that is being made leaves nothing behind', async (t) => {
    const { app, ada, files } = await begin(t)
    const gate = gated({ ...app.context.objects })
    app.context.objects.put = gate.put
    const { body } = await ada.call('POST', path)
    await until(() => gate.waiting.length === 1)
    t.strictSame(await files(), store.unfinished(`${body.id}.1`))
    const deletion = ada.call('DELETE', `${path}/${body.id}`)
    await until(async () => (await list(ada)).length === 0)
    gate.open()
    t.equal((await deletion).status, 200)
    t.strictSame(await files(), [])
    t.strictSame(await list(ada), [])
    const next = await make(ada)
    t.strictSame(await files(), [`${next.id}.1`])
  })

  t.test('DELETE of an export that is completed meanwhile removes its file, too', async (t) => {
    const { app, ada, files } = await begin(t)
    const { id } = await make(ada)
    const { db } = app.context.database
    const completed = await db.selectFrom('exports').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const setExport = (values: Partial<typeof completed>) =>
      db.updateTable('exports').set(values).where('id', '=', id).execute()
    await setExport({ status: 'processing', object_key: null })
    const write = app.context.database.write
    app.context.database.write = async (work) => {
      await setExport(completed)
      return write(work)
    }
    t.equal((await ada.call('DELETE', `${path}/${id}`)).status, 200)
    t.strictSame(await files(), [])
  })

  t.test('when the file cannot be removed, DELETE says so and may be repeated', async (t) => {
    const { app, ada, files } = await begin(t)
    const { id } = await make(ada)
    const { objects } = app.context
    app.context.objects = { ...objects, remove: () => Promise.reject(new Error('EIO')) }
    const { status, body } = await ada.call('DELETE', `${path}/${id}`)
    t.equal(status, 503)
    t.strictSame(body, { error: 'Service unavailable' })
    app.context.objects = objects
    t.equal((await ada.call('DELETE', `${path}/${id}`)).status, 200)
    t.strictSame(await files(), [])
  })
})
