import t from 'tap'
import { createTurns } from '../../src/service/realtime/turns.ts'

function recorder(most: number) {
  const running: { item: string; done: () => void }[] = []
  const began: string[] = []
  const turns = createTurns<string>(most, async (item) => {
    began.push(item)
    await new Promise<void>((resolve) => running.push({ item, done: resolve }))
  })
  const finish = async (item: string) => {
    const index = running.findIndex((one) => one.item === item)
    running.splice(index, 1)[0]?.done()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { turns, began, finish }
}

t.test('Only a few run at once, in the order in which they were added', async (t) => {
  const { turns, began, finish } = recorder(2)
  for (const item of ['a', 'b', 'c', 'd']) turns.add(item)
  t.same(began, ['a', 'b'])
  await finish('b')
  t.same(began, ['a', 'b', 'c'])
  await finish('a')
  t.same(began, ['a', 'b', 'c', 'd'])
})

t.test('What is added again while it waits gets one turn; while it runs, one more', async (t) => {
  const { turns, began, finish } = recorder(2)
  turns.add('a')
  for (let n = 0; n < 5; n++) turns.add('a')
  t.same(began, ['a'], 'never twice at once')
  turns.add('b')
  await finish('a')
  t.same(began, ['a', 'b', 'a'])
  await finish('a')
  t.same(began, ['a', 'b', 'a'])
})

t.test('close waits for those that are running, and drops the others', async (t) => {
  const { turns, began, finish } = recorder(1)
  turns.add('a')
  turns.add('b')
  let closed = false
  const closing = turns.close().then(() => {
    closed = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(closed, false)
  await finish('a')
  await closing
  turns.add('c')
  t.same(began, ['a'])
})
