import { Readable } from 'node:stream'
import t from 'tap'
import { openFile } from '../exports/fixture.ts'
import { keyOf, make, openExports, path, testOnStores } from './exports-fixture.ts'

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

  t.test('a range of the file', async (t) => {
    const { ada } = await begin(t)
    const { id, size_bytes: size } = await make(ada)
    const whole = (await ada.call('GET', `${path}/${id}`)).raw
    const ranges: [string, number, number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=10-19', 10, 19],
      ['bytes=100-', 100, size - 1],
      ['bytes=-7', size - 7, size - 1],
      [`bytes=5-${size + 100}`, 5, size - 1],
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

  t.test('If-Range: the range holds for the file with that ETag, otherwise the whole file is sent', async (t) => {
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

  t.test('a file that is missing or not what was stored is 503, and logged', async (t) => {
    const { app, ada, files } = await begin(t)
    const { id } = await make(ada)
    const key = await keyOf(ada)
    const [name = ''] = await files()
    const { objects } = app.context
    for (const [length, cause] of [
      [400, 'has 400 bytes instead of'],
      [40, 'has 40 bytes instead of'],
      [undefined, `there is no object ${name}`],
    ] as const) {
      await objects.remove(name)
      const content = Readable.from([Buffer.alloc(length ?? 0)])
      if (length !== undefined) await objects.put(name, key, content, new AbortController().signal)
      const { status, body } = await ada.call('GET', `${path}/${id}`)
      t.equal(status, 503)
      t.strictSame(body, { error: 'Service unavailable' })
      t.match(app.log.at(-2) ?? '', cause)
    }
    t.equal((await ada.call('DELETE', `${path}/${id}`)).status, 200, 'it can be deleted')
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
