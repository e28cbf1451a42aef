import { mobile, other, toolbar } from '../lines.ts'
import { count, has, hasNot } from '../matchers.ts'
import { link, scenario } from '../scenario.ts'

export const atOnce = [
  scenario('both at once: each adds, also the same, and both change one title', async ({ one, two, same }) => {
    await Promise.all([
      one.add(toolbar, 'o1'),
      two.add(toolbar, 't1'),
      one.add(other, 'alike'),
      two.add(other, 'alike'),
    ])
    await same((lines) => has('o1', 't1')(lines) && count(/alike/)(lines) < 3)
    const [ours, theirs] = [await one.find('o1'), await two.find('o1')]
    await Promise.all([one.call('update', ours, { title: 'o-one' }), two.call('update', theirs, { title: 'o-two' })])
    await same((lines) => has('o-one')(lines) !== has('o-two')(lines))
  }),
  scenario(
    'another device adds a tagged one, which keeps its tags, and deletes it',
    async ({ one, elsewhere, same }) => {
      await elsewhere.put({ id: 'far', title: 'far', url: link('far'), tags: ['kept'], source: 'bookmarks' })
      await elsewhere.syncNow()
      await same(has('far'))
      await one.call('update', await one.find('far'), { title: 'near' })
      await same(has('near'))
      if (elsewhere.get('far')?.tags?.[0] !== 'kept') throw new Error('The tag is lost')
      await elsewhere.remove('far')
      await elsewhere.syncNow()
      await same(hasNot('near'))
    },
  ),
  scenario(
    'edits on both while the service is restarted; what one deletes and the other changes',
    async ({ one, two, withoutService, same }) => {
      await withoutService(async () => {
        await one.add(toolbar, 'offline-one')
        await two.add(mobile, 'offline-two')
        await two.call('remove', await two.find('t1'))
        await one.call('remove', await one.find('renamed'))
        await two.call('update', await two.find('renamed'), { title: 'survivor' })
      })
      await same((lines) => has('offline-one', 'offline-two')(lines) && hasNot('t1')(lines) && hasNot('renamed')(lines))
    },
  ),
]
