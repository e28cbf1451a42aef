import type { Installed } from '../installed.ts'
import { menu, mobile, other, toolbar } from '../lines.ts'
import { count, has, hasNot, inRow, inSection } from '../matchers.ts'
import { link, scenario } from '../scenario.ts'

export const edits = [
  scenario('one is added to each of the four roots, and one between two', async ({ one, two, same }) => {
    const roots = { a: toolbar, b: menu, c: other, d: mobile }
    for (const [title, root] of Object.entries(roots)) await one.add(root, title)
    await same((lines) => Object.entries(roots).every(([title, root]) => inSection(lines, root).includes(title)))
    await two.add(toolbar, 'z')
    await same(inRow('a', 'z'))
    const index = (await one.nodeOf('z')).index ?? 0
    await one.add(toolbar, 'between', { index, url: link('between') })
    await same(inRow('a', 'between', 'z'))
  }),
  scenario(
    'titles and addresses change; an empty title, a script, the same three times',
    async ({ one, two, same }) => {
      await one.call('update', await one.find('a'), { title: 'renamed' })
      await two.call('update', await two.find('z'), { title: 'z', url: link('elsewhere') })
      await one.add(other, '', { url: link('untitled') })
      await one.add(other, '', {})
      await two.add(other, 'script', { url: 'javascript:alert(1)' })
      for (let times = 0; times < 3; times++) await two.add(menu, 'thrice')
      await same((lines) => {
        const text = lines.join('\n')
        const isThere = ['renamed ', `z ${link('elsewhere')}`, `  ${link('untitled')}`, '\n  /\n', 'script java'].every(
          (part) => text.includes(part),
        )
        return isThere && count(/thrice/)(lines) === 3
      })
    },
  ),
  scenario('the order changes: the last to the start, and the first to the end', async ({ one, two, same }) => {
    for (const title of ['r1', 'r2', 'r3']) await one.add(toolbar, title)
    await same(inRow('r1', 'r2', 'r3'))
    const index = (await one.nodeOf('r1')).index ?? 0
    await one.call('move', await one.find('r3'), { parentId: toolbar, index })
    await same(inRow('r3', 'r1', 'r2'))
    await two.call('move', await two.find('r3'), { parentId: toolbar, index: index + 2 })
    await same(inRow('r1', 'r2', 'r3'))
  }),
  scenario(
    'folders in folders: a move into the innermost, a rename, and a move of the whole to another root',
    async ({ one, two, same }) => {
      const outer = await one.add(toolbar, 'outer', {})
      const inner = await one.add(outer, 'inner', {})
      await one.add(inner, 'deep')
      await same(inRow('outer/', 'inner/', 'deep'))
      await two.call('move', await two.find('r1'), { parentId: await two.find('inner'), index: 0 })
      await same(inRow('inner/', 'r1', 'deep'))
      await two.call('update', await two.find('inner'), { title: 'innermost' })
      await one.call('move', await one.find('outer'), { parentId: mobile, index: 0 })
      await same((lines) => inRow(mobile, 'outer/', 'innermost/', 'r1', 'deep')(lines))
    },
  ),
  scenario('a separator is added, moved and deleted', async ({ one, two, same }) => {
    await one.add(menu, '', { type: 'separator', index: 0 })
    await one.add(menu, 'below', { index: 1, url: link('below') })
    await same(inRow(menu, '---', 'below'))
    const first = async (browser: Installed) =>
      (await browser.roots()).find(({ id }) => id === menu)?.children?.find(({ type }) => type === 'separator')?.id ??
      ''
    await two.call('move', await first(two), { parentId: menu, index: 1 })
    await same(inRow(menu, 'below', '---'))
    await one.call('remove', await first(one))
    await same((lines) => count(/^ +---/)(lines) === 1)
  }),
  scenario("Firefox's queries stay where they are, and go nowhere", async ({ one, two, elsewhere, same }) => {
    await one.add(menu, 'Recent', { index: 0, url: 'place:sort=12&maxResults=10' })
    await two.add(menu, 'after the query', { index: 0, url: link('query') })
    await same(has('after'))
    if ((await one.nodeOf('Recent')).index !== 0 && (await one.nodeOf('Recent')).index !== 1)
      throw new Error('The query was moved away')
    const records = [...elsewhere.bookmarks().values()].map(({ title }) => title)
    if (records.includes('Recent')) throw new Error('The query was sent')
    if (await two.find('Recent').catch(() => undefined)) throw new Error('The query has come')
  }),
  scenario(
    'one is deleted, and put back as an undo does; a folder is deleted with what is in it',
    async ({ one, two, same }) => {
      await one.call('remove', await one.find('r2'))
      await same(hasNot('r2'))
      await two.add(toolbar, 'r2')
      await two.call('removeTree', await two.find('outer'))
      await same((lines) => has('r2')(lines) && hasNot('outer/')(lines) && hasNot('deep')(lines))
    },
  ),
]
