/** Chrome may have its own folders twice, in its user's account and on this device. It hides the device's while empty. */
import t, { type Test } from 'tap'
import { BrowserModel } from './browser-model.ts'
import { type Device, idOf, openDevices, settle } from './device.ts'

const link = (title: string, parentId = '1') => ({ parentId, title, url: `https://example.org/${title}` })
const theirs = ['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7']

/** A Chrome with these bookmarks on the device and with `theirs` in its user's account, and another browser. */
async function signedIn(t: Test, ...titles: string[]): Promise<[Device, Device]> {
  const model = new BrowserModel('chrome')
  model.signIn()
  for (const title of theirs) model.create(link(title, 'account1'))
  for (const title of titles) model.create(link(title))
  const devices = await openDevices(['chrome', model], ['other'])
  await settle(...devices)
  t.same(titlesIn(devices[1], '1'), titles.length > 0 ? titles : theirs, 'what is kept in step')
  return devices
}

function titlesIn({ model }: Device, folder: string): string[] {
  return model.childrenOf(folder).map((id) => model.nodes.get(id)?.title ?? '')
}

function asked({ browserSync, sync }: Device): unknown[] {
  return [browserSync.status().heldRemovals, sync.status().heldDeletions]
}

t.test('The account of the browser stays out even if the folder of the device is emptied and hidden', async (t) => {
  const [chrome, other] = await signedIn(t, 'a', 'b')
  for (const title of ['a', 'b']) chrome.model.remove(idOf(chrome, title))
  await settle(chrome, other)
  t.same(titlesIn(other, '1'), [], 'it is empty everywhere')
  other.model.create(link('c'))
  await settle(chrome, other)
  t.same([titlesIn(chrome, '1'), titlesIn(chrome, 'account1')], [['c'], theirs], 'and comes back')
  // An hour later, a delete does not count as Undo.
  chrome.model.ahead += 3_600_000
  chrome.model.remove(idOf(chrome, 'c'))
  await settle(chrome, other)
  for (const open of [() => chrome.open(), () => chrome.restart()]) {
    open()
    await settle(chrome, other)
    t.same([titlesIn(other, '1'), titlesIn(chrome, 'account1')], [[], theirs], 'also after a new start')
  }
})

t.test('Nothing is deleted if only the account has bookmarks at first, and later the device, too', async (t) => {
  const [chrome, other] = await signedIn(t)
  chrome.model.create(link('on the device'))
  await settle(chrome, other)
  t.same(titlesIn(other, '1'), theirs)
  t.same(asked(chrome), [undefined, undefined])
  chrome.model.create(link('new', 'account1'))
  chrome.restart()
  await settle(chrome, other)
  t.same(titlesIn(other, '1'), [...theirs, 'new'])
})

t.test('Bookmarks of the account are not deleted when its user signs out, but come to the device', async (t) => {
  const [chrome, other] = await signedIn(t)
  chrome.model.signOut()
  await settle(chrome, other)
  t.same([titlesIn(other, '1'), titlesIn(chrome, '1')], [theirs, theirs])
  t.same(asked(chrome), [undefined, undefined])
  chrome.model.signIn()
  chrome.model.create(link('m0', 'account1'))
  await settle(chrome, other)
  t.same([titlesIn(other, '1'), titlesIn(chrome, '1')], [theirs, theirs], 'also if somebody signs in again')
})
