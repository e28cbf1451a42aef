import { other } from '../installed.ts'
import { exactly, scenario } from '../scenario.ts'

export const folders = [
  scenario('the last bookmark is moved to the start, and the first to the end', async ({ one, two, same }) => {
    await one.addMany(['a', 'b', 'c'])
    await same(exactly('a', 'b', 'c'))
    await one.move('c', { index: 0 })
    await same(exactly('c', 'a', 'b'))
    await two.move('c', {})
    return exactly('a', 'b', 'c')
  }),
  scenario('30 bookmarks are cut and pasted in the bookmark manager without a question', async ({ one, same }) => {
    const titles = Array.from({ length: 30 }, (_, index) => `n${index}`)
    const lines = titles.map((title) => `  ${title}`)
    await one.addFolder('from')
    await one.addFolder('to')
    await one.addMany(titles, { into: 'from' })
    await same(exactly('from/', ...lines, 'to/'))
    await one.cutAndPaste('from', 'to')
    return exactly('from/', 'to/', ...lines)
  }),
  scenario('a folder is deleted with its contents', async ({ one, two, same }) => {
    await one.addFolder('outer')
    await one.addFolder('inner', { into: 'outer' })
    await one.add('deep', { into: 'inner' })
    await one.add('stays')
    await same(exactly('outer/', '  inner/', '    deep', 'stays'))
    await two.remove('outer')
    // The folder has just arrived, so its removal could be Chrome's Undo, and the user is asked.
    await two.browser.pressUntil('Delete them everywhere', same(exactly('stays')))
    return exactly('stays')
  }),
  scenario('a folder is moved from the bar to the other bookmarks and back', async ({ one, two, same }) => {
    await one.addFolder('inner')
    await one.add('deep', { into: 'inner' })
    await same(exactly('inner/', '  deep'))
    await one.move('inner', { into: other })
    await two.takeFrom(other, ['inner'])
    return exactly('inner/', '  deep')
  }),
]
