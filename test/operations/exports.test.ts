import { Readable } from 'node:stream'
import t from 'tap'
import { done } from '../../src/service/operations/operation.ts'
import { gated, openFile } from '../exports/fixture.ts'
import { pick } from '../support/pick.ts'
import { until } from '../support/until.ts'
import { keyOf, list, make, openExports, openIdleExports, path, pending, testOnStores } from './exports-fixture.ts'

const day = 24 * 60 * 60 * 1000

t.test('exports that are not made yet', async (t) => {
  const { begin } = await openIdleExports(t)

  t.test('POST returns 201 and the export, which is processing, with size, count and expiry null', async (t) => {
    const { app, ada } = await begin(t)
    app.setClock(Date.UTC(2026, 10, 21))
    const { status, body } = await ada.call('POST', path)
    t.equal(status, 201)
    t.match(body, { id: /^[\da-f-]{36}$/, created_at: Date.UTC(2026, 10, 21), status: 'processing', ...pending })
    t.strictSame(await list(ada), [body])
    const empty = { payload: '', headers: { 'content-type': 'application/json' } }
    t.equal((await ada.call('POST', path, empty)).status, 201, 'an empty body counts as none')
  })

  t.test('the list has only the user’s own exports, newest first', async (t) => {
    const { app, ada, bob } = await begin(t)
    const ids: string[] = []
    for (const at of [3000, 1000, 2000]) {
      app.setClock(Date.UTC(2026, 10, 21) + at)
      ids.push((await ada.call('POST', path)).body.id)
    }
    const [third, first, second] = ids
    t.strictSame(pick(await list(ada), 'id'), [third, second, first])
    t.strictSame(await list(bob), [])
  })

  t.test('a user may have three unfinished exports, even if more are requested at once', async (t) => {
    const { ada, bob, setStatus } = await begin(t)
    const answers = await Promise.all(Array.from({ length: 12 }, () => ada.call('POST', path)))
    t.strictSame(answers.map(({ status }) => status).sort(), [201, 201, 201, ...Array(9).fill(429)])
    for (const { headers, body } of answers.filter(({ status }) => status === 429)) {
      t.strictSame(body, { error: 'Too many exports in progress' })
      t.match(headers['retry-after'], /^\d+$/)
    }
    t.equal((await bob.call('POST', path)).status, 201, 'other users are not affected')
    await setStatus('pending')
    t.equal((await ada.call('POST', path)).status, 429, 'pending exports count as unfinished')
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
    t.equal((await ada.call('DELETE', `${path}/${body.id}`)).status, 200, 'an unfinished export can be deleted')
  })
})

testOnStores(t, async (t, store) => {
  const { begin } = await openExports(t, await store.env(t))

  t.test('an expired export is not found even before the sweep', async (t) => {
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

testOnStores(t, async (t, store) => {
  const { begin } = await openExports(t, await store.env(t))

  t.test('an export is downloaded as an attachment and opens with the export key', async (t) => {
    const { app, ada, bob } = await begin(t)
    const hashes = { encrypted_data: 'Y2lwaGVy', data_hash: 'hash' }
    const { body: bookmark } = await ada.call('POST', '/api/v1/bookmarks', { body: hashes })
    await bob.call('POST', '/api/v1/bookmarks', { body: { ...hashes, encrypted_data: 'Ym9i' } })
    app.setClock(Date.UTC(2026, 10, 21, 23, 59))
    const made = await make(ada)
    t.match(made, { bookmark_count: 1, expires_at: Date.UTC(2026, 10, 28, 23, 59) })
    const { status, headers, raw } = await ada.call('GET', `${path}/${made.id}`)
    t.equal(status, 200)
    t.equal(raw.length, made.size_bytes)
    t.match(headers, {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="bookmarks-2026-11-21.dat"',
      'content-length': `${made.size_bytes}`,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-store',
      etag: /^"[^"]+"$/,
    })
    t.strictSame(JSON.parse(await openFile(raw, await keyOf(ada))), {
      version: '1',
      exported_at: '2026-11-21T23:59:00.000Z',
      bookmarks: [{ id: bookmark.id, ...hashes, created_at: bookmark.created_at, updated_at: bookmark.updated_at }],
      bookmark_count: 1,
    })
  })

  t.test('a range of the file can be downloaded', async (t) => {
    const { ada } = await begin(t)
    const { id, size_bytes: size } = await make(ada)
    const whole = (await ada.call('GET', `${path}/${id}`)).raw
    const ranges: [string, number, number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=10-19', 10, 19],
      ['bytes=100-', 100, size - 1],
      ['bytes=-7', size - 7, size - 1],
      [`bytes=5-${size + 100}`, 5, size - 1],
      [`bytes=1-${'9'.repeat(200)}`, 1, size - 1],
      [`bytes=-${size + 5}`, 0, size - 1],
      ['BYTES= 0-1', 0, 1],
    ]
    for (const [range, start, end] of ranges) {
      const { status, headers, raw } = await ada.call('GET', `${path}/${id}`, { headers: { range } })
      t.equal(status, 206, range)
      t.match(headers, {
        'content-range': `bytes ${start}-${end}/${size}`,
        'content-length': `${end - start + 1}`,
        'content-disposition': /^attachment; filename="bookmarks-.*\.dat"$/,
        'cache-control': 'private, no-store',
      })
      t.ok(raw.equals(whole.subarray(start, end + 1)), range)
    }
    for (const range of ['bytes=0-1,3-4', 'bytes=9-3', 'lines=0-1', 'garbage']) {
      const { status, headers, raw } = await ada.call('GET', `${path}/${id}`, { headers: { range } })
      t.equal(status, 200, range)
      t.equal(headers['content-range'], undefined)
      t.ok(raw.equals(whole), range)
    }
  })

  t.test('a range outside the file is 416 and says how large the file is', async (t) => {
    const { ada } = await begin(t)
    const { id, size_bytes: size } = await make(ada)
    for (const range of [`bytes=${size}-`, 'bytes=-0']) {
      const { status, headers, body } = await ada.call('GET', `${path}/${id}`, { headers: { range } })
      t.equal(status, 416, range)
      t.equal(headers['content-range'], `bytes */${size}`)
      t.strictSame(body, { error: 'Range not satisfiable' })
    }
  })

  t.test('If-Range with another ETag gets the whole file instead of the range', async (t) => {
    const { ada } = await begin(t)
    const [first, second] = [await make(ada), await make(ada)]
    const { headers } = await ada.call('GET', `${path}/${first.id}`)
    const get = (id: string, ifRange: string, range = 'bytes=0-3') =>
      ada.call('GET', `${path}/${id}`, { headers: { range, 'if-range': ifRange } })
    t.equal((await get(first.id, String(headers.etag))).status, 206)
    t.equal((await get(second.id, String(headers.etag))).status, 200, 'another file has another ETag')
    t.equal((await get(first.id, `W/${headers.etag}`)).status, 200, 'a weak one never matches')
    t.equal((await get(first.id, 'Sat, 21 Nov 2026 08:00:00 GMT')).status, 200, 'there is no date to match')
    t.equal((await get(first.id, '"x"', 'bytes=999999-')).status, 200, 'an ignored range is not checked')
  })

  t.test('a changed file gets 503, a missing one 404, and both are logged', async (t) => {
    const { app, ada, files } = await begin(t)
    const { id } = await make(ada)
    const key = await keyOf(ada)
    const [name = ''] = await files()
    const { objects } = app.context
    for (const [length, code, error, cause] of [
      [400, 503, 'Service unavailable', 'has 400 bytes instead of'],
      [40, 503, 'Service unavailable', 'has 40 bytes instead of'],
      [undefined, 404, 'Export not found', `there is no object ${name}`],
    ] as const) {
      await objects.remove(name)
      const content = Readable.from([Buffer.alloc(length ?? 0)])
      if (length !== undefined) await objects.put(name, key, content, new AbortController().signal)
      const { status, body } = await ada.call('GET', `${path}/${id}`)
      t.equal(status, code)
      t.strictSame(body, { error })
      t.match(app.log.at(-2) ?? '', cause)
    }
    t.equal((await ada.call('DELETE', `${path}/${id}`)).status, 200, 'the export can be deleted')
  })

  t.test('a download during the deletion finds no export', async (t) => {
    const { app, ada } = await begin(t)
    const { id } = await make(ada)
    const { objects } = app.context
    app.context.objects = {
      ...objects,
      async get(...args) {
        await ada.call('DELETE', `${path}/${id}`)
        return objects.get(...args)
      },
    }
    t.equal((await ada.call('GET', `${path}/${id}`)).status, 404)
  })
})

testOnStores(t, async (t, store) => {
  const { begin } = await openExports(t, await store.env(t))

  t.test('DELETE removes the export, and its file from the disk', async (t) => {
    const { ada, files } = await begin(t)
    const [kept, gone] = [await make(ada), await make(ada)]
    t.equal((await files()).length, 2)
    const { status, body } = await ada.call('DELETE', `${path}/${gone.id}`)
    t.equal(status, 200)
    t.strictSame(body, done)
    t.strictSame(await files(), [`${ada.userId}.${kept.id}.1`])
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
    t.strictSame(await files(), store.unfinished(`${ada.userId}.${body.id}.1`))
    const deletion = ada.call('DELETE', `${path}/${body.id}`)
    await until(async () => (await list(ada)).length === 0)
    gate.open()
    t.equal((await deletion).status, 200)
    t.strictSame(await files(), [])
    t.strictSame(await list(ada), [])
    const next = await make(ada)
    t.strictSame(await files(), [`${ada.userId}.${next.id}.1`])
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

  t.test('if the file cannot be removed, DELETE reports it and can be repeated', async (t) => {
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

testOnStores(t, async (t, store) => {
  const { begin } = await openExports(t, await store.env(t))

  t.test('a new export key applies to later exports only; the old one opens the earlier file', async (t) => {
    const { ada } = await begin(t)
    const oldKey = await keyOf(ada)
    const earlier = await make(ada)
    const newKey = new Uint8Array(32).fill(9)
    await ada.call('PUT', '/api/v1/account/export-key', { body: { key: Buffer.from(newKey).toString('base64') } })
    const later = await make(ada)
    const download = async (id: string) => (await ada.call('GET', `${path}/${id}`)).raw
    t.match(await openFile(await download(earlier.id), oldKey), /"version":"1"/)
    t.match(await openFile(await download(later.id), newKey), /"version":"1"/)
    await t.rejects(openFile(await download(earlier.id), newKey), /encrypted under another export key/)
    t.strictSame(await keyOf(ada, `?export=${earlier.id}`), oldKey)
    t.strictSame(await keyOf(ada, `?export=${later.id}`), Buffer.from(newKey))
  })

  t.test('each user’s exports have a separate key', async (t) => {
    const { ada, bob } = await begin(t)
    const [one, other] = [await keyOf(ada), await keyOf(bob)]
    t.notSame(one, other)
    const { id } = await make(ada)
    await t.rejects(openFile((await ada.call('GET', `${path}/${id}`)).raw, other), /encrypted under another export key/)
  })
})
