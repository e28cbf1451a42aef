import { createElement, type ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import t from 'tap'
import { SyncProvider, useConflicts, useSyncStatus } from '../../../src/client/react.ts'
import type { Sync } from '../../../src/client/sync/sync.ts'
import { bookmark } from './device.ts'
import { openPeople } from './person.ts'

const people = await openPeople()

/** What a component that uses the hook shows. */
function shownBy(hook: () => ReactNode, sync?: Sync): string {
  const content = createElement(() => hook())
  return renderToStaticMarkup(sync ? createElement(SyncProvider, { sync }, content) : content)
}

t.test('a hook outside a provider says what is missing', async (t) => {
  t.throws(() => shownBy(() => useSyncStatus().state), /needs a <SyncProvider/)
})

t.test('useConflicts has what lost to another device, and remains the same while nothing else does', async (t) => {
  const person = await people.person(t)
  const [a, b] = [person.device('a').sync, person.device('b').sync]
  const shown = () => shownBy(() => useConflicts().map(({ mine, theirs }) => `${mine?.title} < ${theirs?.title}`), a)
  await a.put(bookmark('x', 'one'))
  await a.syncNow()
  await b.syncNow()
  t.equal(shown(), '')
  const conflicts = a.select((sync) => sync.conflicts())
  const before = conflicts.read()
  await a.put(bookmark('x', 'mine'))
  t.equal(conflicts.read(), before)
  await person.world.pass(1000)
  await b.put(bookmark('x', 'theirs'))
  await b.syncNow()
  let told = 0
  conflicts.subscribe(() => told++)
  await a.syncNow()
  t.same([told, shown()], [1, 'mine &lt; theirs'])
})
