import { mock } from 'node:test'
import t from 'tap'
import { createAdmission } from '../../src/service/db/engine/admission.ts'

t.test('A write that waits 10 s for its turn is refused at once, and its turn passes on', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { run } = createAdmission(20)
  const stuck = Promise.withResolvers<void>()
  const done: string[] = []
  const write = (owner: string, name: string, until = Promise.resolve()) =>
    run(owner, async () => {
      await until
      done.push(name)
    })
  const held = [write('ada', 'first', stuck.promise), write('ada', 'second', stuck.promise)]
  const late = write('ada', 'late').catch((error) => error.code)
  mock.timers.tick(1)
  const inTime = write('ada', 'in time')
  mock.timers.tick(9_998)
  await write('bob', 'his')
  t.same(done, ['his'], 'other owners write meanwhile')
  mock.timers.tick(1)
  t.equal(await late, 'Overloaded')
  stuck.resolve()
  await Promise.all([...held, inTime])
  t.same(done, ['his', 'first', 'second', 'in time'])
  mock.timers.tick(60_000)
  await write('ada', 'later')
  t.equal(done.at(-1), 'later', 'nothing is held afterwards')
})
