import { mock } from 'node:test'
import t from 'tap'
import { ServiceError } from '../../src/service/contract/errors.ts'
import type { JointWork, Share, Trx } from '../../src/service/db/engine/database.ts'
import { createWriter, type Ground } from '../../src/service/db/engine/writer.ts'
import { pick } from '../support/pick.ts'

interface Named extends Share {
  name: string
}

const share = (name: string, { keys = [name], bytes = 0 }: { keys?: string[]; bytes?: number } = {}): Named => ({
  name,
  entities: new Map(keys.map((key) => [key, [name]])),
  bytes,
})

/** Transactions of one batch, each without a database. */
function open(slots: Ground['slots'] = { all: 1, ofOwner: 1, serviceWaits: true }) {
  return createWriter({
    slots,
    async transact(group) {
      try {
        await group.run({} as Trx)
      } catch (error) {
        return group.fail(error)
      }
      group.settle()
    },
    isUnavailable: (error) => (error as Error).message === 'no connection',
  })
}

/** Joint writes of one owner, and what each transaction had been given. */
function openJoint(fail: (names: string[]) => void = () => {}) {
  const written: string[][] = []
  const { writeJointly, load } = open()
  const work: JointWork<Named, string> = async (_, owner, take) => {
    const names = take().map(({ name }) => name)
    written.push(names)
    fail(names)
    return names.map((name) =>
      name === 'refused'
        ? { status: 'rejected', reason: new ServiceError('BookmarkExists') }
        : { status: 'fulfilled', value: `${owner} ${name}` },
    )
  }
  /** All at once; what each resolves to, or is refused with. */
  const write = (...shares: Named[]) =>
    Promise.all(shares.map((own) => writeJointly('ada', own, work).catch((error: Error) => error.message)))
  return { write, written, waiting: () => load().waiting }
}

t.test('What waits is written together, in its order, unless it concerns the same', async (t) => {
  const { write, written, waiting } = openJoint()
  const results = write(share('a'), share('b'), share('c', { keys: ['c', 'a'] }), share('d'), share('refused'))
  t.equal(waiting(), 5)
  t.same(await results, ['ada a', 'ada b', 'ada c', 'ada d', 'Bookmark already exists'])
  t.same(written, [
    ['a', 'b'],
    ['c', 'd', 'refused'],
  ])
  t.equal(waiting(), 0, 'none of them waits any more')
})

t.test('What is written together is bounded', async (t) => {
  const { write, written } = openJoint()
  const half = { bytes: 512 * 1024 }
  const many = { keys: Array.from({ length: 999 }, (_, index) => `${index}`) }
  await write(share('a', half), share('b', half), share('c', { bytes: 1 }), share('d', many), share('e'))
  await write(...Array.from({ length: 150 }, (_, index) => share(`${index}`)))
  t.same(pick(written, 'length'), [2, 2, 1, 100, 50])
})

t.test('What comes while a batch waits for its lock is taken with it, and what comes later is not', async (t) => {
  const { writeJointly } = open({ all: 2, ofOwner: 2, serviceWaits: false })
  const lock = Promise.withResolvers<void>()
  const written: string[][] = []
  const work: JointWork<Named, void> = async (_, __, take) => {
    await lock.promise
    const taken = take()
    written.push(taken.map(({ name }) => name))
    await new Promise(setImmediate)
    return taken.map(() => ({ status: 'fulfilled', value: undefined }))
  }
  const first = writeJointly('ada', share('a'), work)
  await new Promise(setImmediate)
  const second = writeJointly('ada', share('b'), work)
  lock.resolve()
  await new Promise((resolve) => queueMicrotask(() => queueMicrotask(() => resolve(undefined))))
  const third = writeJointly('ada', share('c'), work)
  await Promise.all([first, second, third])
  t.same(written, [['a', 'b'], ['c']])
})

t.test('The fault of one is not that of the others', async (t) => {
  const { write, written, waiting } = openJoint((names) => {
    if (names.includes('bad')) throw new Error('out of range')
  })
  t.same(await write(share('a'), share('bad'), share('b')), ['ada a', 'out of range', 'ada b'])
  t.same(written, [['a', 'bad', 'b'], ['a'], ['bad'], ['b']])
  t.equal(waiting(), 0)
})

t.test('Without a database, all fail at once', async (t) => {
  const { write, written, waiting } = openJoint(() => {
    throw new Error('no connection')
  })
  t.same(await write(share('a'), share('b')), ['no connection', 'no connection'])
  t.equal(written.length, 1)
  t.equal(waiting(), 0)
})

t.test('Of one owner, no more than 512 writes wait', async (t) => {
  const { write } = openJoint()
  const results = await write(...Array.from({ length: 515 }, (_, index) => share(`${index}`)))
  const { message } = new ServiceError('Overloaded')
  t.equal(results.filter((result) => result === message).length, 3)
  t.same(await write(share('later')), ['ada later'])
})

t.test('A write that waits 10 s for its turn is refused at once, and its turn passes on', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const writer = open({ all: 12, ofOwner: 2, serviceWaits: false })
  const stuck = Promise.withResolvers<void>()
  const done: string[] = []
  const write = (owner: string | undefined, name: string, until = Promise.resolve()) =>
    writer.write(async () => {
      await until
      done.push(name)
    }, owner)
  const held = [write('ada', 'first', stuck.promise), write('ada', 'second', stuck.promise)]
  const late = write('ada', 'late').catch((error) => error.code)
  mock.timers.tick(1)
  const inTime = write('ada', 'in time')
  await new Promise(setImmediate)
  mock.timers.tick(9_998)
  await write('bob', 'his')
  await write(undefined, 'the service’s')
  t.same(done, ['his', 'the service’s'], 'other owners write meanwhile, and so does the service')
  mock.timers.tick(1)
  t.equal(await late, 'Overloaded')
  t.same(writer.load(), { open: 2, waiting: 1 })
  stuck.resolve()
  await Promise.all([...held, inTime])
  t.same(done.slice(2), ['first', 'second', 'in time'])
  mock.timers.tick(60_000)
  await write('ada', 'later')
  t.equal(done.at(-1), 'later', 'nothing is held afterwards')
})
