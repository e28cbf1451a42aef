import { other } from '../installed.ts'
import { exactly, inAnyOrder, link, oneOf, scenario } from '../scenario.ts'

/** Two people, or one person with two browsers, of which neither has what the other one does. */
export const atOnce = [
  scenario('both add at once, also the same', async ({ one, two }) => {
    await Promise.all([one.add('alike'), two.add('alike'), one.add('o'), two.add('t')])
    const either = oneOf(['alike', 'alike', 'o', 't'], ['alike', 'o', 't'])
    return { ...either, inAnyOrder: true }
  }),
  scenario('both change one title while the service is away: the later one counts', async (world) => {
    const { one, two, same, withoutService } = world
    await one.add('a')
    await same(exactly('a'))
    await withoutService(() => Promise.all([one.retitle('a', 'ours'), two.retitle('a', 'theirs')]))
    await same(oneOf([`ours ${link('a')}`], [`theirs ${link('a')}`]))
    const [shown = ''] = await one.titles()
    const loser = shown === 'ours' ? two : one
    await loser.browser.press('Take the one from here')
    return exactly(`${shown === 'ours' ? 'theirs' : 'ours'} ${link('a')}`)
  }),
  scenario('one changes the title, the other one the address', async ({ one, two, same, withoutService }) => {
    await one.add('a')
    await same(exactly('a'))
    await withoutService(() => Promise.all([one.retitle('a', 'renamed'), two.readdress('a', link('b'))]))
    return exactly(`renamed ${link('b')}`)
  }),
  scenario('one renames a folder while the other one moves it', async ({ one, two, same, withoutService }) => {
    await one.addFolder('outer')
    await one.addFolder('folder')
    await one.add('in it', { into: 'folder' })
    await same(exactly('outer/', 'folder/', '  in it'))
    await withoutService(() => Promise.all([one.retitle('folder', 'renamed'), two.move('folder', { into: 'outer' })]))
    return exactly('outer/', '  renamed/', '    in it')
  }),
  scenario('one deletes a folder while the other one adds into it', async ({ one, two, same, withoutService }) => {
    await one.addFolder('folder')
    await one.add('old', { into: 'folder' })
    await same(exactly('folder/', '  old'))
    await withoutService(() => Promise.all([one.remove('folder'), two.add('new', { into: 'folder' })]))
    // The contents of a folder that another device has deleted lie at the top level.
    await one.takeFrom(other, ['new'])
    return exactly('new')
  }),
  scenario('one deletes what the other one changes: the change stays', async ({ one, two, same, withoutService }) => {
    await one.add('a')
    await one.add('b')
    await same(exactly('a', 'b'))
    await withoutService(async () => {
      await one.remove('a')
      await two.retitle('a', 'changed')
    })
    return oneOf([`changed ${link('a')}`, 'b'], ['b'])
  }),
  scenario('one moves what the other one deletes', async ({ one, two, same, withoutService }) => {
    await one.addFolder('folder')
    await one.add('a')
    await same(exactly('folder/', 'a'))
    await withoutService(() => Promise.all([one.move('a', { into: 'folder' }), two.remove('a')]))
    return oneOf(['folder/'], ['folder/', '  a'])
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
    await loser.browser.press('Take the one from here')
    return isInF ? exactly('f/', 'g/', '  a') : exactly('f/', '  a', 'g/')
  }),
  scenario('each moves one folder into the other one', async ({ one, two, same, withoutService }) => {
    for (const title of ['f', 'g']) {
      await one.addFolder(title)
      await one.add(`in ${title}`, { into: title })
    }
    await same(exactly('f/', '  in f', 'g/', '  in g'))
    await withoutService(() => Promise.all([one.move('f', { into: 'g' }), two.move('g', { into: 'f' })]))
    // The one that was changed last lies at the top level, with the other one in it.
    await one.takeFrom(other, ['f', 'g'])
    return oneOf(['g/', '  in g', '  f/', '    in f'], ['f/', '  in f', '  g/', '    in g'])
  }),
  scenario('both reorder one folder', async ({ one, two, same, withoutService }) => {
    const titles = ['a', 'b', 'c', 'd', 'e', 'f']
    await one.addMany(titles)
    await same(exactly(...titles))
    await withoutService(() => Promise.all([one.move('f', { index: 0 }), two.move('a', {}), two.move('c', {})]))
    return inAnyOrder(...titles)
  }),
  scenario('both move one within its folder: nobody is asked', async ({ one, two, same, withoutService }) => {
    await one.addMany(['a', 'b', 'c'])
    await same(exactly('a', 'b', 'c'))
    await withoutService(() => Promise.all([one.move('a', {}), two.move('a', { index: 2 })]))
    await same(oneOf(['b', 'c', 'a'], ['b', 'a', 'c']))
    for (const { browser } of [one, two]) {
      if ((await browser.ask({ ask: 'state' })).state?.conflicts.length !== 0) throw new Error('It asks')
    }
    return oneOf(['b', 'c', 'a'], ['b', 'a', 'c'])
  }),
  scenario('both go on for a while without the service', async ({ one, two, same, withoutService }) => {
    await one.addMany(['a', 'b', 'c'])
    await same(exactly('a', 'b', 'c'))
    await withoutService(async () => {
      await one.addFolder('one')
      await two.addFolder('two')
      await one.move('a', { into: 'one' })
      await two.remove('b')
      await two.add('new', { into: 'two' })
      await one.retitle('c', 'renamed')
      await one.browser.stopWorker()
      await one.add('later', { into: 'one' })
    })
    return inAnyOrder(`renamed ${link('c')}`, 'one/', '  a', '  later', 'two/', '  new')
  }),
  scenario('two windows of one browser are used at once', async ({ one, folder }) => {
    const { id } = await one.find(folder)
    const second = await one.browser.page.context().newPage()
    await second.goto(one.browser.page.url())
    const nodes = ['x', 'y', 'z'].map((title) => ({ parentId: id, title, url: link(title) }))
    type Chrome = { bookmarks: { create(node: object): Promise<unknown> } }
    const adding = second.evaluate(async (nodes) => {
      const { chrome } = globalThis as unknown as { chrome: Chrome }
      for (const node of nodes) await chrome.bookmarks.create(node)
    }, nodes)
    await Promise.all([adding, one.addMany(['a', 'b', 'c'])])
    await second.close()
    return inAnyOrder('a', 'b', 'c', 'x', 'y', 'z')
  }),
  scenario('another device adds, tags, moves and deletes', async ({ one, two, elsewhere: { sync }, folder, same }) => {
    await one.addFolder('inner')
    await same(exactly('inner/'))
    const idOf = (title: string) => [...sync.bookmarks().values()].find((one) => one.title === title)?.id as string
    const bookmark = { url: link('far'), tags: ['kept'], source: 'bookmarks' as const }
    await sync.put({ id: 'far', title: 'far', parentId: idOf(folder), ...bookmark })
    await same(exactly('inner/', 'far'))
    await two.retitle('far', 'near')
    await one.move('near', { into: 'inner' }).catch(() => one.move('far', { into: 'inner' }))
    await same(exactly('inner/', `  near ${link('far')}`))
    if (sync.get('far')?.tags?.[0] !== 'kept') throw new Error('The tag is lost')
    await sync.remove('far')
    return exactly('inner/')
  }),
]
