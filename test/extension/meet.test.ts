/** First meetings of two browsers that both have bookmarks. */
import t from 'tap'
import { chromeAndFirefox, type Device, settle, textOf, twoDevices } from './device.ts'

const at = (path: string) => `https://example.org/${path}`

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

t.test('The pages of a browser are the same in Chrome and Firefox', async (t) => {
  const [chrome, firefox] = await chromeAndFirefox()
  // Chrome gives it this form, whatever is typed.
  chrome.model.create({ parentId: '1', title: 'Config', url: 'chrome://config/' })
  firefox.model.create({ parentId: 'toolbar_____', title: 'Config', url: 'about:config' })
  await settle(chrome, firefox)
  t.equal(textOf(chrome)[1], '  Config chrome://config/')
  t.equal(titlesIn(firefox, 'toolbar_____').length, 1)
})
