import { other } from '../installed.ts'
import { exactly, link, scenario } from '../scenario.ts'

export const folders = [
  scenario('the last is moved to the start, and the first to the end', async ({ one, two, same }) => {
    await one.addMany(['a', 'b', 'c'])
    await same(exactly('a', 'b', 'c'))
    await one.move('c', { index: 0 })
    await same(exactly('c', 'a', 'b'))
    await two.move('c', {})
    return exactly('a', 'b', 'c')
  }),
  scenario('a folder of 30 is turned around', async ({ one, two, same }) => {
    const titles = Array.from({ length: 30 }, (_, index) => `n${index}`)
    await one.addMany(titles)
    await same(exactly(...titles))
    for (const [index, title] of titles.toReversed().entries()) await two.move(title, { index })
    return exactly(...titles.toReversed())
  }),
  scenario('30 are cut and pasted in the bookmark manager: nobody is asked', async ({ one, same }) => {
    const titles = Array.from({ length: 30 }, (_, index) => `n${index}`)
    const lines = titles.map((title) => `  ${title}`)
    await one.addFolder('from')
    await one.addFolder('to')
    await one.addMany(titles, { into: 'from' })
    await same(exactly('from/', ...lines, 'to/'))
    await one.cutAndPaste('from', 'to')
    return exactly('from/', 'to/', ...lines)
  }),
  scenario('folders in folders, and a move into the innermost', async ({ one, two, same }) => {
    await one.addFolder('outer')
    await one.addFolder('inner', { into: 'outer' })
    await one.add('deep', { into: 'inner' })
    await one.add('a')
    await same(exactly('outer/', '  inner/', '    deep', 'a'))
    await two.move('a', { into: 'inner', index: 0 })
    return exactly('outer/', '  inner/', '    a', '    deep')
  }),
  scenario('a folder is renamed, and moved with what is in it', async ({ one, two, same }) => {
    await one.addFolder('outer')
    await one.addFolder('inner', { into: 'outer' })
    await one.add('deep', { into: 'inner' })
    await same(exactly('outer/', '  inner/', '    deep'))
    await two.retitle('inner', 'renamed')
    await two.move('renamed', { index: 0 })
    return exactly('renamed/', '  deep', 'outer/')
  }),
  scenario('a folder is deleted with what is in it', async ({ one, two, same }) => {
    await one.addFolder('outer')
    await one.addFolder('inner', { into: 'outer' })
    await one.add('deep', { into: 'inner' })
    await one.add('stays')
    await same(exactly('outer/', '  inner/', '    deep', 'stays'))
    await two.remove('outer')
    return exactly('stays')
  }),
  scenario('what is in a folder is moved out, and the folder deleted', async ({ one, two, same }) => {
    await one.addFolder('old')
    await one.addMany(['a', 'b'], { into: 'old' })
    await same(exactly('old/', '  a', '  b'))
    await two.move('a', {})
    await two.move('b', {})
    await two.remove('old')
    return exactly('a', 'b')
  }),
  scenario('from the bar to the other bookmarks, with all that is in it, and back', async ({ one, two, same }) => {
    await one.addFolder('inner')
    await one.add('deep', { into: 'inner' })
    await same(exactly('inner/', '  deep'))
    await one.move('inner', { into: other })
    await two.takeFrom(other, ['inner'])
    return exactly('inner/', '  deep')
  }),
  scenario('two folders of the same name, with the same in them, stay two', async ({ one, two, same }) => {
    for (let count = 0; count < 2; count++) {
      await one.addFolder('twin', { index: 0 })
      await one.add('same', { into: 'twin' })
    }
    await two.browser.stopWorker()
    await same(exactly('twin/', '  same', 'twin/', '  same'))
    await two.retitle('twin', 'first')
    return exactly('first/', '  same', 'twin/', '  same')
  }),
  scenario('a folder and a bookmark change places', async ({ one, two, same }) => {
    await one.addFolder('folder')
    await one.add('in it', { into: 'folder' })
    await one.add('a')
    await same(exactly('folder/', '  in it', 'a'))
    await two.move('in it', { index: 0 })
    await two.move('a', { into: 'folder' })
    await two.readdress('in it', link('b'))
    return exactly(`in it ${link('b')}`, 'folder/', '  a')
  }),
]
