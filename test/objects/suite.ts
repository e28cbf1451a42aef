import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { ObjectNotFoundError, type ObjectStore } from '../../src/service/objects/store.ts'

const signal = new AbortController().signal
const key = 'ada.0199f6a0-1c00-7000-8000-000000000001.1'
const exportKey = new Uint8Array(32).fill(7)
const otherKey = 'ada.0199f6a0-1c00-7000-8000-000000000001.2'

/** The tests that every object store must pass. */
export function testObjectStore(t: Test, open: (t: Test) => Promise<ObjectStore>): void {
  const test = (title: string, run: (t: Test, store: ObjectStore) => Promise<void>) =>
    t.test(title, async (t) => run(t, await open(t)))

  test('an object has the content that was put', async (t, store) => {
    const content = Buffer.alloc(200_000, 'abcdefghijk')
    t.equal(await store.put(key, exportKey, pieces(content, 65_568), signal), content.length)
    const { size, body } = await store.get(key, exportKey)
    t.equal(size, content.length)
    t.ok((await buffer(body)).equals(content))
    t.strictSame(await Array.fromAsync(store.list()), [key])
  })

  test('a range of an object can be read', async (t, store) => {
    await store.put(key, exportKey, pieces(Buffer.from('0123456789'), 3), signal)
    for (const [start, end, expected] of [
      [0, 0, '0'],
      [2, 4, '234'],
      [9, 9, '9'],
      [0, 9, '0123456789'],
    ] as const) {
      const { size, body } = await store.get(key, exportKey, { start, end })
      t.equal((await buffer(body)).toString(), expected)
      t.equal(size, 10, 'the size is that of the whole object')
    }
  })

  test('an object does not exist before it is complete', async (t, store) => {
    async function* content() {
      yield Buffer.from('half')
      await t.rejects(store.get(key, exportKey), ObjectNotFoundError)
      t.notOk(await store.has(key))
      yield Buffer.from('whole')
    }
    await store.put(key, exportKey, content(), signal)
    t.same([await store.has(key), await store.has(otherKey)], [true, false])
    t.equal((await buffer((await store.get(key, exportKey)).body)).toString(), 'halfwhole')
  })

  test('an object whose content fails leaves nothing', async (t, store) => {
    async function* content() {
      yield Buffer.from('half')
      throw new Error('no more')
    }
    await t.rejects(store.put(key, exportKey, content(), signal), { message: 'no more' })
    t.strictSame(await Array.fromAsync(store.list()), [])
  })

  test('an aborted object leaves nothing', async (t, store) => {
    for (const abortAfter of [0, 1, 2, 3]) {
      const controller = new AbortController()
      async function* content() {
        for (let index = 0; index < 3; index++) {
          if (index === abortAfter) controller.abort()
          yield Buffer.from('part')
        }
        if (abortAfter === 3) controller.abort()
      }
      await t.rejects(store.put(key, exportKey, content(), controller.signal), { name: 'AbortError' })
      t.strictSame(await Array.fromAsync(store.list()), [])
    }
  })

  test('an abort does not wait for the end of the content', async (t, store) => {
    const controller = new AbortController()
    let pieces = 0
    async function* content() {
      for (;;) {
        if (++pieces === 3) controller.abort()
        yield Buffer.from('part')
      }
    }
    await t.rejects(store.put(key, exportKey, content(), controller.signal), { name: 'AbortError' })
    t.equal(pieces, 3)
  })

  test('a missing object is reported as not found', async (t, store) => {
    await t.rejects(store.get(key, exportKey), ObjectNotFoundError)
    await store.remove(key)
  })

  test('a removed object is gone, the others stay', async (t, store) => {
    for (const each of [key, otherKey]) await store.put(each, exportKey, pieces(Buffer.from(each), 8), signal)
    t.strictSame((await Array.fromAsync(store.list())).sort(), [key, otherKey])
    await store.remove(key)
    await t.rejects(store.get(key, exportKey), ObjectNotFoundError)
    t.equal((await buffer((await store.get(otherKey, exportKey)).body)).toString(), otherKey)
  })

  test('a removed object is still sent to clients that are reading it', async (t, store) => {
    const content = Buffer.alloc(1_000_000, 'abcdefghijk')
    await store.put(key, exportKey, pieces(content, 65_568), signal)
    const { body } = await store.get(key, exportKey)
    await store.remove(key)
    t.ok((await buffer(body)).equals(content))
  })

  test('keys in another form than the service’s are refused', async (t, store) => {
    for (const odd of ['', '.', '..', '../x.1', 'a/b.1', '/etc/passwd', 'a\\b.1', 'a.1\0', 'a.1.part', 'a.1\n']) {
      await t.rejects(store.get(odd, exportKey), TypeError, JSON.stringify(odd))
      await t.rejects(store.put(odd, exportKey, pieces(Buffer.from('x'), 1), signal), TypeError, JSON.stringify(odd))
      await t.rejects(store.remove(odd), TypeError, JSON.stringify(odd))
    }
  })

  test('a probe leaves nothing behind', async (t, store) => {
    await store.probe()
    t.strictSame(await Array.fromAsync(store.list()), [])
  })
}

async function* pieces(content: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < content.length; start += length) yield content.subarray(start, start + length)
}
