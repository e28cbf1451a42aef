import t from 'tap'
import { list, make, openExports, openIdleExports, path, pending, testOnStores } from './exports-fixture.ts'

const day = 24 * 60 * 60 * 1000

t.test('not made yet', async (t) => {
  const { begin } = await openIdleExports(t)

  t.test('POST responds with 201 and the export: processing, its size, count and expiry null', async (t) => {
    const { app, ada } = await begin(t)
    app.setClock(Date.UTC(2026, 10, 21))
    const { status, body } = await ada.call('POST', path)
    t.equal(status, 201)
    t.match(body, { id: /^[\da-f-]{36}$/, created_at: Date.UTC(2026, 10, 21), status: 'processing', ...pending })
    t.strictSame(await list(ada), [body])
  })

  t.test('the list is the user’s own, newest first', async (t) => {
    const { app, ada, bob } = await begin(t)
    const ids: string[] = []
    for (const at of [3000, 1000, 2000]) {
      app.setClock(Date.UTC(2026, 10, 21) + at)
      ids.push((await ada.call('POST', path)).body.id)
    }
    const [third, first, second] = ids
    t.strictSame(
      (await list(ada)).map((each: { id: string }) => each.id),
      [third, second, first],
    )
    t.strictSame(await list(bob), [])
  })

  t.test('three exports a user may be unfinished, however many are requested at once', async (t) => {
    const { ada, bob, setStatus } = await begin(t)
    const answers = await Promise.all(Array.from({ length: 12 }, () => ada.call('POST', path)))
    t.strictSame(answers.map(({ status }) => status).sort(), [201, 201, 201, ...Array(9).fill(429)])
    for (const { headers, body } of answers.filter(({ status }) => status === 429)) {
      t.strictSame(body, { error: 'Too many exports in progress' })
      t.match(headers['retry-after'], /^\d+$/)
    }
    t.equal((await bob.call('POST', path)).status, 201, 'other users are not affected')
    await setStatus('pending')
    t.equal((await ada.call('POST', path)).status, 429, 'pending is unfinished, too')
    const [newest] = await list(ada)
    await ada.call('DELETE', `${path}/${newest?.id}`)
    t.equal((await ada.call('POST', path)).status, 201, 'after a deletion')
    for (const finished of ['completed', 'failed'] as const) {
      await setStatus(finished)
      t.equal((await ada.call('POST', path)).status, 201, `${finished} is finished`)
    }
  })

  t.test('an export that is not completed cannot be downloaded', async (t) => {
    const { ada, setStatus } = await begin(t)
    const { body } = await ada.call('POST', path)
    for (const status of ['pending', 'processing', 'failed'] as const) {
      await setStatus(status)
      const answer = await ada.call('GET', `${path}/${body.id}`)
      t.equal(answer.status, 400, status)
      t.strictSame(answer.body, { error: 'Export not ready for download' }, status)
      t.match(await list(ada), [{ id: body.id, status, ...pending }])
    }
  })
})

testOnStores(t, async (t, store) => {
  const { begin } = await openExports(t, await store.env(t))

  t.test('an unknown export, and another user’s, is not found', async (t) => {
    const { ada, bob, files } = await begin(t)
    const { id } = await make(ada)
    const ids = ['0199f6a0-1c00-7000-8000-000000000001', 'x', '..%2F..%2Fsecret.key', '%00', 'a'.repeat(129), id]
    for (const method of ['GET', 'DELETE']) {
      for (const each of ids) {
        const { status, body } = await bob.call(method, `${path}/${each}`)
        t.equal(status, 404, `${method} ${each}`)
        t.strictSame(body, { error: 'Export not found' })
      }
    }
    t.equal((await files()).length, 1)
    t.equal((await ada.call('GET', `${path}/${id}`)).status, 200)
  })

  t.test('an expired export is gone at once, before the sweep', async (t) => {
    const { app, ada } = await begin(t)
    const { id, expires_at } = await make(ada)
    t.ok(Math.abs(expires_at - Date.now() - 7 * day) < day)
    const soon = Date.now() + 60_000
    await app.context.database.db.updateTable('exports').set({ expires_at: soon }).where('id', '=', id).execute()
    app.setClock(soon - 1)
    t.equal((await ada.call('GET', `${path}/${id}`)).status, 200)
    app.setClock(soon)
    t.strictSame(await list(ada), [])
    for (const method of ['GET', 'DELETE']) t.equal((await ada.call(method, `${path}/${id}`)).status, 404, method)
  })
})
