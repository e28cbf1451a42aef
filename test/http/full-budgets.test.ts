import t, { type Test } from 'tap'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { interceptWrites, snapshot } from '../support/database.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'
import { holdTime, ignoreLag, openEndlessExports, openUnread, storeMuch, type Unread, withMemory } from './unread.ts'
import { beginUpload, mebibyte, nothing, nothingIn, push, type Upload } from './uploads.ts'

const kibibyte = 1024
const list = '/api/v1/bookmarks?limit=1000'
const downloadsInAll = 64 + 16
/** Of responses: 16 MiB, and 3 for those who hold up to 1.5. */
const responsesInAll = 19 * mebibyte
/** Of bodies: 32 MiB, and 2 for those who hold up to 1. */
const bodiesInAll = 34 * mebibyte

/** The service in 320 MiB of memory, with less room than it has otherwise. Nothing is slow before time is made to `pass`. */
async function openSmall(t: Test) {
  const pass = holdTime(t)
  holdIntervals(t)
  ignoreLag(t)
  const app = await withMemory(320, () => buildApp(t))
  return {
    ...app,
    pass,
    /** Who has 2 MiB. */
    async owner(name: string): Promise<TestUser> {
      const user = await app.user(name)
      await storeMuch(app, user, 8)
      return user
    },
  }
}

/** Responses of one user, of which each has taken so much. */
async function openSlow(app: TestApp, user: TestUser, path: string, ...taken: number[]): Promise<Unread[]> {
  const unread: Unread[] = []
  for (const bytes of taken) {
    const one = await openUnread(app, user, ['GET', path])
    await one.take(bytes)
    unread.push(one)
  }
  return unread
}

const areCutOff = (unread: Unread[]) => unread.map((one) => one.isCutOff())
const nobody = new Set([false])

for (const [title, operation] of [
  ['a list', ['GET', list]],
  ['a pull', ['POST', '/api/v1/sync/pull', { limit: 10_000 }]],
  ['a bookmark', ['GET', '/api/v1/bookmarks/bookmark-00']],
] as const) {
  t.test(`Where slow readers of much fill the memory for responses, the slowest make room for ${title}`, async (t) => {
    const app = await openSmall(t)
    const { responses } = app.context
    const [ada, bob, eve, zoe] = [
      await app.owner('ada'),
      await app.owner('bob'),
      await app.owner('eve'),
      await app.owner('zoe'),
    ]
    const slow = await openSlow(app, ada, list, 1, 1, 1, 1, 1, 1, 1)
    const faster = await openSlow(app, bob, list, ...Array(7).fill(128 * kibibyte))
    const large = [...slow, ...faster]
    app.pass(600)
    const little = await openSlow(app, eve, list, 1)
    app.pass(600)
    const others = responses.hold('others')
    others.insist(responsesInAll - responses.held() - 2 * mebibyte)
    t.equal((await zoe.call(...(operation.slice(0, 2) as [string, string]), { body: operation[2] })).status, 200)
    t.same(new Set(areCutOff([...large, ...little])), nobody, 'nobody ends while there is room')

    others.insist(responsesInAll - responses.held())
    const newcomer = await openUnread(app, zoe, [...operation])
    const { complete } = await newcomer.rest()
    t.same([newcomer.status, complete], [200, true])
    t.same(new Set(areCutOff(slow)), new Set([true, false]), 'some of the slowest made room')
    t.same(new Set(areCutOff(faster)), nobody)
    t.same(areCutOff(little), [false], 'who holds little keeps it, however slow')
    t.equal((await ada.call('GET', '/api/v1/bookmarks?limit=1')).status, 503, 'who holds more is refused')

    others.release()
    for (const one of [...large, ...little]) {
      const isWhole = !one.isCutOff()
      t.equal((await one.rest()).complete, isWhole)
    }
    await until(() => responses.held() === 0)
    t.match(app.log.join(''), /too many bytes of responses in memory/)
  })
}

t.test('Responses that go on fast are not ended, nor any before they could', async (t) => {
  const app = await openSmall(t)
  const { responses } = app.context
  const [ada, zoe] = [await app.owner('ada'), await app.owner('zoe')]
  const large: Unread[] = []
  for (let count = 0; count < 6; count++) large.push(await openUnread(app, ada, ['GET', list]))
  async function getWhenFull(): Promise<number> {
    const others = responses.hold('others')
    others.insist(responsesInAll - responses.held())
    const { status } = await zoe.call('GET', list)
    others.release()
    return status
  }
  app.pass(1)
  t.equal(await getWhenFull(), 503, 'in their first second')
  for (const one of large) await one.take(mebibyte)
  app.pass(3)
  t.equal(await getWhenFull(), 503, 'at 256 KiB/s')
  t.same(new Set(areCutOff(large)), nobody)
  app.pass(3)
  t.equal(await getWhenFull(), 200)
  t.ok(areCutOff(large).includes(true), 'when they are slower')
  for (const one of large) one.abort()
})

t.test('A response that has begun waits for room for its next part, and comes whole', async (t) => {
  const app = await openSmall(t)
  const { responses } = app.context
  const ada = await app.owner('ada')
  const unread = await openUnread(app, ada, ['GET', list])
  const others = responses.hold('others')
  others.insist(responsesInAll)
  const reading = unread.rest()
  await until(() => responses.held() === responsesInAll + 64 * kibibyte)
  for (let count = 0; count < 5; count++)
    t.equal((await ada.call('GET', list)).status, 503, 'others are refused meanwhile')
  others.release()
  const { text, complete } = await reading
  t.equal(complete, true)
  t.equal(JSON.parse(text).data.length, 8)
  await until(() => responses.held() === 0)
})

t.test('Where slow ones fill the downloads, the slowest of who has many makes room', async (t) => {
  const app = await openSmall(t)
  const { downloads } = app.context
  const { make, openFiles } = openEndlessExports(app)
  const open = async (name: string) => {
    const user = await app.user(name)
    return { user, path: await make(user) }
  }
  const single = await open('single')
  const little = await openSlow(app, single.user, single.path, 1)
  const large: Unread[] = []
  for (const least of [1, 8]) {
    const { user, path } = await open(`from ${least}`)
    const taken = Array.from({ length: 8 }, (_, index) => (least + index) * 128 * kibibyte)
    large.push(...(await openSlow(app, user, path, ...taken)))
  }
  app.pass(600)
  downloads.hold('others').insist(downloadsInAll - downloads.held() - 1)
  const { user, path } = await open('zoe')
  const first = await openUnread(app, user, ['GET', path])
  t.equal(first.status, 200)
  t.same(new Set(areCutOff([...large, ...little])), nobody, 'nobody ends while there is room')

  const another = await open('eve')
  const second = await openUnread(app, another.user, ['GET', another.path])
  t.equal(second.status, 200)
  t.same(areCutOff(large), [true, ...Array(15).fill(false)])
  t.same(areCutOff([...little, first]), [false, false])
  t.equal(downloads.held(), downloadsInAll)
  await until(() => openFiles() === 18)
  t.match(app.log.join(''), /too many downloads under way/)
  for (const one of [...large, ...little, first, second]) one.abort()
})

t.test(
  'Where slow bodies fill the memory, the slowest of who sends much gets 503, and nothing is changed',
  async (t) => {
    const app = await openSmall(t)
    const { bodies } = app.context
    const origin = await app.listen()
    const [ada, bob, eve, zoe] = [
      await app.user('ada'),
      await app.user('bob'),
      await app.user('eve'),
      await app.user('zoe'),
    ]
    const before = await snapshot(app.context)
    async function arrive({ cookie }: TestUser, bytes: number): Promise<Upload> {
      const held = bodies.held()
      const upload = await beginUpload(origin, { cookie })
      upload.send(bytes)
      await until(() => bodies.held() === held + bytes)
      return upload
    }
    const little = await arrive(eve, mebibyte / 2)
    const large = []
    for (let count = 0; count < 6; count++) large.push(await arrive(count % 2 ? ada : bob, (2 + count / 4) * mebibyte))
    app.pass(600)
    const others = bodies.hold('others')
    others.insist(bodiesInAll - 2 * mebibyte - bodies.held())
    const send = async (user: TestUser, bytes: number) =>
      (await user.call('POST', push, { headers: { 'content-type': 'application/json' }, payload: nothingIn(bytes) }))
        .status

    t.equal(await send(zoe, mebibyte), 200, 'a part is kept for who sends little')
    t.equal(bodies.held(), bodiesInAll - 2 * mebibyte, 'nobody ends for it')
    t.equal(await send(ada, 3 * mebibyte), 503, 'who holds more than the others ends nobody')
    t.equal(await send(zoe, 4 * mebibyte), 200)
    const [slowest, next, ...rest] = large as [Upload, Upload, Upload]
    for (const { answer } of [slowest, next]) {
      const { status, body, headers } = await answer
      t.same([status, body, headers['retry-after']], [503, { error: 'Service unavailable' }, '1'])
    }
    t.equal(await snapshot(app.context), before)
    others.release()
    for (const upload of [little, ...rest]) {
      upload.end(nothing)
      t.equal((await upload.answer).status, 200, 'the others go on')
    }
    await until(() => bodies.held() === 0)
    for (const upload of large) upload.abort()
  },
)

t.test('What is announced ends nobody, and a body that has arrived is carried out', async (t) => {
  const app = await openSmall(t)
  const { bodies } = app.context
  const origin = await app.listen()
  const [ada, zoe] = [await app.user('ada'), await app.user('zoe')]
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  interceptWrites(app.context, async (write) => {
    begun.resolve()
    await finish.promise
    return write()
  })
  const arrived = await beginUpload(origin, { cookie: ada.cookie })
  arrived.send(8 * mebibyte)
  arrived.end('{"changes":[]}')
  await begun.promise
  const unfinished = await beginUpload(origin, { cookie: ada.cookie })
  unfinished.send(8 * mebibyte)
  await until(() => bodies.held() === 16 * mebibyte + nothing.length)
  bodies.hold('others').insist(bodiesInAll - bodies.held())
  app.pass(600)
  const announced = await beginUpload(origin, { cookie: zoe.cookie, length: 2 * mebibyte })
  t.equal(bodies.held(), bodiesInAll)
  announced.send(2 * mebibyte)
  t.equal((await unfinished.answer).status, 503)
  const third = await beginUpload(origin, { cookie: zoe.cookie, length: 8 * mebibyte })
  t.equal((await third.answer).status, 503, 'there is nothing more to end')
  finish.resolve()
  t.equal((await arrived.answer).status, 200)
  for (const upload of [announced, unfinished, third]) upload.abort()
})
