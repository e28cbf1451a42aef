import { until } from '../../../support/until.ts'
import { other } from '../installed.ts'
import { exactly, link, oneOf, scenario } from '../scenario.ts'

/** Both browsers change something before either has the other's changes. */
export const atOnce = [
  scenario('both add bookmarks at once, one of them the same', async ({ one, two }) => {
    await Promise.all([one.add('alike'), two.add('alike'), one.add('o'), two.add('t')])
    const either = oneOf(['alike', 'alike', 'o', 't'], ['alike', 'o', 't'])
    return { ...either, inAnyOrder: true }
  }),
  scenario('one deletes a folder while the other adds a bookmark to it', async ({ one, two, same, withoutService }) => {
    await one.addFolder('folder')
    await one.add('old', { into: 'folder' })
    await same(exactly('folder/', '  old'))
    await withoutService(async () => {
      await Promise.all([one.remove('folder'), two.add('new', { into: 'folder' })])
      // The delete must have been sent first: the new bookmark would cancel a delete that is still held.
      await until(async () => (await one.browser.ask({ ask: 'state' })).state?.sync?.waiting !== 0)
    })
    // New contents of a folder that another device deleted move to the top level.
    await one.takeFrom(other, ['new'])
    return exactly('new')
  }),
  scenario('both move a bookmark, each into another folder', async ({ one, two, same, withoutService }) => {
    await one.addFolder('f')
    await one.addFolder('g')
    await one.add('a')
    await same(exactly('f/', 'g/', 'a'))
    await withoutService(() => Promise.all([one.move('a', { into: 'f' }), two.move('a', { into: 'g' })]))
    await same(oneOf(['f/', '  a', 'g/'], ['f/', 'g/', '  a']))
    const isInF = (await one.folderOf('a')) === 'f'
    const [loser, lost, kept] = isInF ? [two, 'g', 'f'] : [one, 'f', 'g']
    await loser.browser.reads(`a · ${link('a')}, in ${lost}`)
    await loser.browser.reads(`a · ${link('a')}, in ${kept}`)
    await loser.browser.press('Keep the version from here')
    return isInF ? exactly('f/', 'g/', '  a') : exactly('f/', '  a', 'g/')
  }),
  scenario('each moves one of two folders into the other', async ({ one, two, same, withoutService }) => {
    for (const title of ['f', 'g']) {
      await one.addFolder(title)
      await one.add(`in ${title}`, { into: title })
    }
    await same(exactly('f/', '  in f', 'g/', '  in g'))
    await withoutService(() => Promise.all([one.move('f', { into: 'g' }), two.move('g', { into: 'f' })]))
    // The folder that was changed last is at the top level and contains the other one.
    await one.takeFrom(other, ['f', 'g'])
    return oneOf(['g/', '  in g', '  f/', '    in f'], ['f/', '  in f', '  g/', '    in g'])
  }),
]
