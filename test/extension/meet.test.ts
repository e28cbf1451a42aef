/** First meetings of two browsers that both have bookmarks. */
import fc from 'fast-check'
import t from 'tap'
import { depth } from '../support/depth.ts'
import { chromeAndFirefox, type Device, settle, textOf, twoDevices } from './device.ts'

const at = (path: string) => `https://example.org/${path}`

/** Few titles, so that some are there twice. */
const common = fc.record({ title: fc.constantFrom('a', 'b', 'c'), isFolder: fc.boolean(), into: fc.nat(5) })

function fill({ model }: Device, parentId: string, ...titles: string[]): void {
  for (const title of titles) model.create({ parentId, title, url: at(title) })
}

function titlesIn({ model }: Device, folder: string): string[] {
  return model.childrenOf(folder).map((id) => model.nodes.get(id)?.title ?? '')
}

t.test('What a browser brings goes after what the account has', async (t) => {
  const [one, other] = await twoDevices()
  fill(one, '1', 'Mail', 'Calendar', 'Work', 'News')
  fill(other, '1', 'Start', 'Shop', 'Zeitung', 'News')
  await settle(one, other)
  const expected = ['Mail', 'Calendar', 'Work', 'News', 'Start', 'Shop', 'Zeitung']
  for (const device of [one, other]) t.same(titlesIn(device, '1'), expected)
})

t.test('Two browsers that find the account empty at the same time bring what both have once', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(common, { minLength: 1, maxLength: 12 }),
      fc.infiniteStream(fc.nat(2)),
      async (all, dice) => {
        const devices = await twoDevices()
        for (const { model } of devices) {
          const folders = ['1', '2']
          for (const { title, isFolder, into } of all) {
            const parentId = folders[into % folders.length] as string
            if (isFolder) folders.push(model.create({ parentId, title }).id)
            else model.create({ parentId, title, url: at(title) })
          }
          // They did not come there at the same time.
          model.ahead += 86_400_000
        }
        const [one, other] = devices
        const before = textOf(one)
        for (const { sync } of devices) await sync.syncNow()
        // Each adds, and only then sends.
        for (const { browserSync } of devices) await browserSync.compareNow()
        for (let count = 0; count < 6; count++) {
          const { sync, browserSync } = dice.next().value === 0 ? one : other
          await sync.syncNow()
          await browserSync.compareNow()
        }
        await settle(one, other)
        for (const device of devices) {
          t.same(textOf(device), before)
          t.same(device.sync.conflicts(), [])
        }
      },
    ),
    { numRuns: depth(10, 100) },
  )
})

t.test('The pages of a browser are the same in Chrome and Firefox', async (t) => {
  const [chrome, firefox] = await chromeAndFirefox()
  // Chrome gives it this form, whatever is typed.
  chrome.model.create({ parentId: '1', title: 'Config', url: 'chrome://config/' })
  firefox.model.create({ parentId: 'toolbar_____', title: 'Config', url: 'about:config' })
  await settle(chrome, firefox)
  t.equal(textOf(chrome)[1], '  Config chrome://config/')
  t.equal(titlesIn(firefox, 'toolbar_____').length, 1)
})
