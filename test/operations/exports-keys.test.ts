import t from 'tap'
import { openFile } from '../exports/fixture.ts'
import { keyOf, make, openExports, path, testOnStores } from './exports-fixture.ts'

testOnStores(t, async (t, store) => {
  const { begin } = await openExports(t, await store.env(t))

  t.test(
    'a new export key applies to later exports only; the old one opens the earlier file until it expires',
    async (t) => {
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
    },
  )

  t.test('each user’s exports are under a key of their own', async (t) => {
    const { ada, bob } = await begin(t)
    const [one, other] = [await keyOf(ada), await keyOf(bob)]
    t.notSame(one, other)
    const { id } = await make(ada)
    await t.rejects(openFile((await ada.call('GET', `${path}/${id}`)).raw, other), /encrypted under another export key/)
  })
})
