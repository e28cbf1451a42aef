import t from 'tap'
import { ServiceError } from '../../src/service/contract/errors.ts'
import type { Database, JointWork, Share, Trx } from '../../src/service/db/engine/database.ts'
import { type SoleDatabase, withJointWrites } from '../../src/service/db/engine/joint-writes.ts'

interface Named extends Share {
  name: string
}

const share = (name: string, fields: Partial<Share> = {}): Named => ({ name, keys: [name], bytes: 0, ...fields })

/** Writes that end when the one before has, and what each had been given. */
function open(fail: (names: string[]) => void = () => {}) {
  const written: string[][] = []
  let last = Promise.resolve()
  const sole: Pick<Database, 'write' | 'isUnavailable' | 'load'> = {
    write(work) {
      const result = last.then(() => work({} as Trx))
      last = result.then(
        () => {},
        () => {},
      )
      return result
    },
    isUnavailable: (error) => (error as Error).message === 'no connection',
    load: () => ({ busy: 1, idle: 0, waiting: 1 }),
  }
  const { writeJointly, load } = withJointWrites(sole as SoleDatabase)
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
  return { write, written, load }
}

t.test('What waits is written together, in its order, unless it concerns the same', async (t) => {
  const { write, written, load } = open()
  const results = write(share('a'), share('b'), share('c', { keys: ['c', 'a'] }), share('d'), share('refused'))
  t.equal(load().waiting, 5, 'the first waits as a write')
  t.same(await results, ['ada a', 'ada b', 'ada c', 'ada d', 'Bookmark already exists'])
  t.same(written, [
    ['a', 'b'],
    ['c', 'd', 'refused'],
  ])
  t.equal(load().waiting, 1, 'none of them waits any more')
})

t.test('What is written together is bounded', async (t) => {
  const { write, written } = open()
  const half = { bytes: 512 * 1024 }
  const many = { keys: Array.from({ length: 999 }, (_, index) => `${index}`) }
  await write(share('a', half), share('b', half), share('c', { bytes: 1 }), share('d', many), share('e'))
  await write(...Array.from({ length: 150 }, (_, index) => share(`${index}`)))
  t.same(
    written.map((names) => names.length),
    [2, 2, 1, 100, 50],
  )
})

t.test('The fault of one is not that of the others', async (t) => {
  const { write, written } = open((names) => {
    if (names.includes('bad')) throw new Error('out of range')
  })
  t.same(await write(share('a'), share('bad'), share('b')), ['ada a', 'out of range', 'ada b'])
  t.same(written, [['a', 'bad', 'b'], ['a'], ['bad'], ['b']])
})

t.test('Without a database, all fail at once', async (t) => {
  const { write, written } = open(() => {
    throw new Error('no connection')
  })
  t.same(await write(share('a'), share('b')), ['no connection', 'no connection'])
  t.equal(written.length, 1)
})
