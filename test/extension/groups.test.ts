/** Tab groups, with a model of the browser. Covers what users of other syncs report, from duplicated tabs to lost groups. */
import t from 'tap'
import { type GroupsDevice, openBrowsers, twoBrowsers } from './groups-device.ts'
import { TabsModel } from './tabs-model.ts'

const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => `https://example.org/${name}`) as [
  string,
  string,
  string,
  string,
]

/** Two browsers. In the first one, a group of three tabs is open and saved. */
async function withGroup(other = new TabsModel()) {
  const [one, two] = (await openBrowsers(new TabsModel(), other)) as [GroupsDevice, GroupsDevice]
  const group = one.model.openGroup('', 'red', [a, b, c])
  await one.save(group, 'Work')
  await two.step()
  return { one, two, group }
}

t.test('A group that is saved in one browser opens in another with name, colour, titles and order', async (t) => {
  for (const other of [new TabsModel(), new TabsModel('firefox')]) {
    const { one, two } = await withGroup(other)
    t.same(one.model.text, [`Work red: ${a} ${b} ${c}`], 'it has its name here too')
    t.match(two.groups.list(), [{ title: 'Work', color: 'red', isOpen: false }])
    t.same(
      two.saved('Work').tabs.map(({ title }) => title),
      ['Title of /a', 'Title of /b', 'Title of /c'],
    )
    const before = two.model.windows.length
    t.same(await two.groups.open(two.saved('Work').id), [])
    t.same(two.model.text, one.model.text)
    t.equal(two.model.windows.length, before, 'in one window, where the person asked')
    t.ok(two.saved('Work').isOpen)
    t.equal(two.saved('Work').differs, undefined)
    if (other.flavour === 'firefox') t.equal(other.loaded, 1, 'Firefox loads the first')
    await two.groups.open(two.saved('Work').id)
    t.same(two.model.text, one.model.text, 'opening it again goes to it')
  }
})

t.test('A saved group follows the open one; other browsers show the changes, but wait for a click', async (t) => {
  const { one, two, group } = await withGroup()
  await two.groups.open(two.saved('Work').id)
  await two.step()
  const [first, second, third] = one.model.tabsOf(group) as [number, number, number]
  one.model.close([second])
  one.model.openTab(d, one.model.focused, group)
  one.model.navigate(first, `${a}/deeper`)
  one.model.move(third, 0)
  Object.assign(one.model.groups.get(group) ?? {}, { title: 'Play', color: 'blue' })
  await one.step()
  t.same(one.text, [`Play blue: ${c} ${a}/deeper ${d}`])
  const before = two.model.text
  await two.step()
  await two.step()
  t.same(two.text, one.text, 'the other one lists it')
  t.same(two.model.text, before, 'and leaves its tabs alone')
  t.same(two.saved('Play').differs, { opens: 1, closes: 1, changes: 3 })
  await two.groups.update(two.saved('Play').id)
  t.same(two.model.text, one.model.text)
  await two.step()
  t.equal(two.saved('Play').differs, undefined)
  await one.step()
  t.same(one.text, two.text)
  t.equal(one.saved('Play').differs, undefined, 'an update writes nothing')
})

t.test('An update closes an open group that has no saved tab left', async (t) => {
  const { one, two, group } = await withGroup()
  const { id } = two.saved('Work')
  await two.groups.open(id, true)
  await two.step()
  two.model.closeWindow(two.model.windows[0]?.id ?? 0)
  one.model.close(one.model.tabsOf(group).slice(1))
  two.model.close(two.model.tabsOf([...two.model.groups.keys()][0] ?? 0).slice(0, 1))
  for (const device of [one, two, one]) await device.step()
  t.same(two.text, ['Work red: '])
  await two.groups.update(id)
  await two.step()
  t.same([two.model.text, two.model.windows.length], [[], 1], 'and the browser stays')
  t.match(two.groups.list(), [{ title: 'Work', isOpen: false }])
})

t.test('A person can save the open tabs instead of those that other devices have saved', async (t) => {
  const { one, two, group } = await withGroup()
  await two.groups.open(two.saved('Work').id)
  await two.step()
  one.model.close(one.model.tabsOf(group).slice(0, 1))
  one.model.openTab(d, one.model.focused, group)
  await one.step()
  await two.step()
  await two.groups.keep(two.saved('Work').id)
  await two.step()
  t.same(two.text, [`Work red: ${a} ${b} ${c}`])
  t.equal(two.saved('Work').differs, undefined)
})

t.test('A restart gives new ids, but neither duplicates nor removes a tab', async (t) => {
  const { one, two } = await withGroup()
  const before = one.text
  for (let restart = 0; restart < 3; restart++) {
    await one.restart()
    await one.step()
    t.ok(one.saved('Work').isOpen, 'it is found again')
    await one.groups.open(one.saved('Work').id)
    await one.step()
    t.same(one.model.text, [`Work red: ${a} ${b} ${c}`])
  }
  const waiting = one.sync.status().waiting
  t.same([one.text, waiting], [before, 0])
  await two.step()
  t.same(two.text, before)
  one.model.openTab(d, one.model.focused, [...one.model.groups.keys()][0])
  await one.step()
  t.same(one.text, [`Work red: ${a} ${b} ${c} ${d}`], 'and is followed again')
})

t.test('Changes made by a crash or a slow start are shown, but not saved', async (t) => {
  const { one, group } = await withGroup()
  const crash = one.model.save()
  const [first] = one.model.tabsOf(group)
  one.model.close([first as number])
  one.model.openTab(d, one.model.focused, group)
  await one.step()
  const before = one.text
  await one.restart(crash)
  await one.step()
  await one.step()
  t.same(one.text, before, 'a closed tab does not come back on other devices, and a new one is not gone')
  t.same(one.saved('Work').differs, { opens: 1, closes: 1, changes: 0 })
  await one.groups.update(one.saved('Work').id)
  t.same(one.model.text, [`Work red: ${b} ${c} ${d}`], 'put back')
})

t.test('A group that a crash has dissolved can be put back, with the tabs that are still open', async (t) => {
  const { one, group } = await withGroup()
  one.model.group(one.model.tabsOf(group), -1)
  const crash = one.model.save()
  await one.restart(crash)
  const tabs = () => one.model.windows.flatMap((window) => window.tabs).length
  const before = tabs()
  await one.step()
  t.match(one.saved('Work'), { isOpen: false, isScattered: true, tabs: { length: 3 } })
  await one.groups.open(one.saved('Work').id)
  t.same(one.model.text, [`Work red: ${a} ${b} ${c}`])
  t.equal(tabs(), before, 'none is opened twice')
  await one.step()
  t.notOk(one.saved('Work').isScattered)
})

t.test('Closing a group, a window or the browser removes nothing', async (t) => {
  const { one, two, group } = await withGroup()
  const before = one.text
  one.model.openWindow('https://private.example/', true)
  one.model.closeWindow(one.model.focused)
  await one.step()
  t.same(one.text, before, 'also while a private window stays')
  t.notOk(one.saved('Work').isOpen)
  one.model.openWindow('https://start.example/')
  await one.restart()
  await one.step()
  t.same(one.text, before)
  await one.groups.open(one.saved('Work').id)
  await one.step()
  one.model.close(one.model.tabsOf([...one.model.groups.keys()][0] ?? group))
  await one.step()
  t.same(one.text, before, 'a group whose last tab is closed is closed')
  await one.groups.open(one.saved('Work').id)
  await one.groups.close(one.saved('Work').id)
  await one.step()
  await two.step()
  t.same([one.text, two.text, one.model.text], [before, before, []])
})

t.test('Tabs of private windows, of extensions and without an address are not saved', async (t) => {
  const [one] = (await openBrowsers(new TabsModel())) as [GroupsDevice]
  const hidden = one.model.openWindow('https://private.example/', true)
  const secret = one.model.openGroup('Secret', 'red', ['https://private.example/1'], hidden)
  one.model.focused = hidden
  one.model.look(one.model.tabsOf(secret)[0] as number)
  await t.rejects(one.groups.save('group', 'Secret'), RangeError)
  await t.rejects(one.groups.save('window', 'Secret'), RangeError)
  await t.rejects(one.groups.save('tabs', 'Secret'), RangeError)
  t.same([one.text, one.model.groups.size], [[], 1])
  one.model.focused = one.model.windows[0]?.id ?? 0
  const group = one.model.openGroup('', 'red', [
    a,
    'chrome-extension://abc/popup.html',
    'chrome://newtab/',
    'about:blank',
  ])
  await one.save(group, 'Work')
  t.same(one.text, [`Work red: ${a}`])
  one.model.close(one.model.tabsOf(group))
  one.model.openGroup('Work', 'red', [a], hidden)
  await one.step()
  t.notOk(one.saved('Work').isOpen, 'a group in a private window is another one')
  await one.groups.open(one.saved('Work').id)
  await one.step()
  const [first] = one.model.tabsOf([...one.model.groups.keys()].at(-1) as number)
  one.model.navigate(first as number, 'moz-extension://abc/suspended.html#https://example.org')
  await one.step()
  t.same(one.text, [`Work red: ${a}`], 'a suspended tab keeps its address')
})

t.test('A private window that comes to the front while tabs are saved is not saved', async (t) => {
  for (const hasGroups of [true, false]) {
    const [one] = (await openBrowsers(new TabsModel('chrome', hasGroups))) as [GroupsDevice]
    const { model } = one
    const { focused } = model
    const hidden = model.openWindow('https://private.example/', true)
    let left = model.windows.length
    Object.defineProperty(model, 'focused', { get: () => (left-- > 0 ? focused : hidden) })
    await one.groups.save('tabs', 'Chosen')
    t.same(
      one.saved('Chosen').tabs.map(({ url }) => url),
      ['https://start.example/'],
    )
  }
})

t.test('A tab that is still loading is not removed, and is saved with its pending address, if known', async (t) => {
  for (const flavour of ['chrome', 'firefox'] as const) {
    const [one] = (await openBrowsers(new TabsModel(flavour))) as [GroupsDevice]
    const group = one.model.openGroup('', 'red', [a, b])
    await one.save(group, 'Work')
    for (const tab of one.model.tabsOf(group)) one.model.tab(tab).isArriving = true
    one.model.tab(one.model.openTab(c, one.model.focused, group)).isArriving = true
    await one.step()
    t.same(one.text, [`Work red: ${flavour === 'chrome' ? `${a} ${b} ${c}` : `${a} ${b}`}`], flavour)
    for (const tab of one.model.tabsOf(group)) one.model.tab(tab).isArriving = false
    await one.step()
    t.same(one.text, [`Work red: ${a} ${b} ${c}`])
  }
})

t.test('Addresses that other devices cannot open are kept and shown, but never opened', async (t) => {
  const [one, two] = await twoBrowsers()
  const file = 'file:///home/ann/notes.html'
  const group = one.model.openGroup('', 'red', [a, file, 'chrome://settings/', 'data:text/html,x', 'ht!tp:odd'])
  await one.save(group, 'Work')
  await two.step()
  const { tabs, id } = two.saved('Work')
  t.same(
    tabs.map(({ canOpen }) => canOpen),
    [true, false, false, false, false],
  )
  t.same(await two.groups.open(id), [])
  t.same(two.model.text, [`Work red: ${a}`])
  await two.step()
  await two.groups.openTab(tabs[1]?.id ?? '')
  await two.groups.update(id)
  await two.step()
  t.same(two.model.text, [`Work red: ${a}`])
  t.same([two.text, two.saved('Work').differs], [one.text, undefined])
  await one.step()
  t.equal(one.saved('Work').differs, undefined)
})

t.test('A large group opens unloaded, a few tabs at a time', async (t) => {
  for (const other of [new TabsModel(), new TabsModel('firefox')]) {
    const [one, two] = (await openBrowsers(new TabsModel(), other)) as [GroupsDevice, GroupsDevice]
    const urls = Array.from({ length: 200 }, (_, index) => `${a}/${index}`)
    await one.save(one.model.openGroup('', 'red', urls), 'Many')
    await two.step()
    await two.groups.open(two.saved('Many').id)
    t.same(two.model.text, one.model.text)
    t.equal(other.loaded, 1, other.flavour)
    await two.step()
    await one.step()
    t.same([one.text, one.saved('Many').differs], [two.text, undefined], 'new ids of unloaded tabs are no change')
  }
})

t.test('The target of a redirect, such as a sign-in page, is not saved', async (t) => {
  const { one, two } = await withGroup(new TabsModel('firefox'))
  two.model.redirects.set(b, 'https://login.example/')
  await two.groups.open(two.saved('Work').id)
  await two.step()
  const [, second] = two.model.tabsOf([...two.model.groups.keys()][0] as number)
  two.model.look(second as number)
  await two.step()
  await one.step()
  t.same([one.text, one.saved('Work').differs, two.saved('Work').differs], [two.text, undefined, undefined])
  t.match(one.text, [new RegExp(b)])
  await two.restart()
  await two.step()
  t.same([two.saved('Work').differs, two.text], [undefined, one.text], 'nor after a restart')
  const restored = two.model.tabsOf([...two.model.groups.keys()][0] as number)[1] as number
  two.model.look(restored)
  await two.step()
  two.model.navigate(restored, d)
  await two.step()
  t.same(two.text, [`Work red: ${a} ${d} ${c}`], 'what the person opens then is')
})

t.test('A tab that moves from one saved group to another keeps its record', async (t) => {
  const { one, group } = await withGroup()
  const other = one.model.openGroup('', 'blue', [d])
  await one.save(other, 'Play')
  const { id } = one.saved('Work').tabs[1] ?? {}
  one.model.group([one.model.tabsOf(group)[1] as number], other)
  await one.step()
  t.same(one.text.sort(), [`Play blue: ${d} ${b}`, `Work red: ${a} ${c}`])
  t.equal(one.saved('Play').tabs[1]?.id, id)
})

t.test('A tab that another device moved to another group stays there if the open tabs are saved here', async (t) => {
  const { one, two, group } = await withGroup()
  const other = one.model.openGroup('', 'blue', [d])
  await one.save(other, 'Play')
  await two.step()
  await two.groups.open(two.saved('Work').id)
  await two.step()
  one.model.group([one.model.tabsOf(group)[1] as number], other)
  await one.step()
  await two.step()
  await two.groups.keep(two.saved('Work').id)
  t.same(two.text.sort(), [`Play blue: ${d} ${b}`, `Work red: ${a} ${b} ${c}`])
})

t.test('In a browser without tab groups, a window stands for a group', async (t) => {
  const { one, two } = await withGroup(new TabsModel('firefox', false))
  const before = two.model.windows.length
  await two.groups.open(two.saved('Work').id)
  t.equal(two.model.windows.length, before + 1)
  const opened = two.model.focused
  t.same(
    two.model.window(opened).tabs.map(({ url }) => url),
    [a, b, c],
  )
  two.model.openTab(d, opened)
  await two.step()
  t.same(two.text, [`Work red: ${a} ${b} ${c} ${d}`])
  await two.restart()
  await two.step()
  t.ok(two.saved('Work').isOpen)
  await one.step()
  t.same(one.saved('Work').differs, { opens: 1, closes: 0, changes: 0 })
  const [first] = two.model.windows.find(({ tabs }) => tabs.length === 4)?.tabs ?? []
  two.model.closeWindow(two.model.windows.find(({ tabs }) => tabs.includes(first as never))?.id ?? 0)
  await two.step()
  t.same(two.text, [`Work red: ${a} ${b} ${c} ${d}`])
  two.model.openWindow(d)
  two.model.focused = two.model.windows.at(-1)?.id ?? 0
  await two.groups.save('window', 'Window')
  t.match(two.saved('Window'), { isOpen: true, tabs: [{ url: d }] })
})

t.test('Selected tabs become a group, and a window can be saved, too', async (t) => {
  const [one] = (await openBrowsers(new TabsModel())) as [GroupsDevice]
  await one.groups.save('tabs', 'Chosen')
  t.same(one.model.text, ['Chosen grey: https://start.example/'])
  t.ok(one.saved('Chosen').isOpen)
  one.model.openTab(a)
  await one.groups.save('window', 'All')
  t.match(one.saved('All').tabs, { length: 1 }, 'without the tabs of a group that is saved itself')
})

t.test('A worker that dies while it opens, saves or updates a group duplicates nothing', async (t) => {
  const { one, two, group } = await withGroup()
  for (let calls = 0; calls < 30; calls++) {
    await two.step()
    await two.dieAt(calls, (groups) => groups.open(two.saved('Work').id))
    await two.step()
    t.same(two.text, one.text, `${calls} calls`)
    await two.groups.open(two.saved('Work').id)
    await two.groups.update(two.saved('Work').id)
    await two.step()
    // A worker that dies right after it made the browser's group leaves it with one tab and no name.
    const left = two.model.text.filter((line) => line !== one.model.text[0])
    t.ok(left.length === 0 || left.join() === ` grey: ${a}`, left.join())
    t.same([two.model.text.length - left.length, two.text], [1, one.text])
    for (const id of two.model.groups.keys()) two.model.close(two.model.tabsOf(id))
  }
  one.model.openTab(d, one.model.focused, group)
  await one.dieAt(3, (groups) => groups.compareNow())
  await one.step()
  t.same(one.text, [`Work red: ${a} ${b} ${c} ${d}`])
})

t.test('A tab that is too long to be saved is reported, and does not stop the others', async (t) => {
  const [one] = (await openBrowsers(new TabsModel())) as [GroupsDevice]
  const long = `${a}?${'x'.repeat(300_000)}`
  const group = one.model.openGroup('', 'red', [a, long, b])
  await one.save(group, 'Work')
  t.same([one.text, one.groups.refused()], [[`Work red: ${a} ${b}`], ['Title of /a']])
  t.equal(one.saved('Work').differs, undefined)
  await one.step()
  one.model.navigate(one.model.tabsOf(group)[1] as number, c)
  await one.step()
  t.same([one.text, one.groups.refused()], [[`Work red: ${a} ${c} ${b}`], []])
})

t.test('Deleting a group leaves its tabs open; an unknown colour is shown as grey, but kept', async (t) => {
  const { one, two } = await withGroup()
  const { id } = one.saved('Work')
  // The value must not get into a style sheet, either.
  const teal = 'url(https://teal.example/)'
  await one.sync.groups.update(id, { color: teal })
  await one.step()
  await two.step()
  await two.groups.open(id)
  await two.step()
  t.same([two.model.text, two.text], [[`Work grey: ${a} ${b} ${c}`], [`Work grey: ${a} ${b} ${c}`]])
  t.equal(two.sync.groups.get(id)?.color, teal)
  await two.groups.rename(id, 'Renamed')
  t.same(two.model.text, [`Renamed grey: ${a} ${b} ${c}`])
  await two.groups.remove(id)
  await two.step()
  await one.step()
  t.same([one.text, one.model.text.length, one.sync.groups.records().size], [[], 1, 0])
})

t.test('A group that Chrome’s own sync brings to a second browser is followed if its person confirms it', async (t) => {
  const { one, two } = await withGroup()
  const group = two.model.openGroup('Work', 'red', [a, b, c])
  await two.step()
  t.match(two.saved('Work'), { isOpen: false, isAlike: true })
  await two.groups.follow(two.saved('Work').id)
  t.match(two.saved('Work'), { isOpen: true, isAlike: false })
  one.model.openTab(d, one.model.focused, [...one.model.groups.keys()][0])
  await one.step()
  await two.sync.syncNow()
  two.model.openTab(d, two.model.focused, group)
  await two.step()
  await one.step()
  t.same([two.text, one.text], [[`Work red: ${a} ${b} ${c} ${d}`], [`Work red: ${a} ${b} ${c} ${d}`]])
})

t.test('A group or window with the pages of a saved one is not taken for it, and is not stored', async (t) => {
  for (const hasGroups of [true, false]) {
    const [one] = (await openBrowsers(new TabsModel('chrome', hasGroups))) as [GroupsDevice]
    const { model } = one
    const open = {
      window: () => model.openTab(b, model.openWindow(a)),
      'a named group': () => model.tabsOf(model.openGroup('Mail', 'red', [a, b]))[1] as number,
      'an unnamed group': () => model.tabsOf(model.openGroup('', 'red', [a, b]))[1] as number,
    }
    for (const [what, make] of Object.entries(hasGroups ? open : { window: open.window })) {
      const windowOf = (tab: number) => model.windows.find(({ tabs }) => tabs.some(({ id }) => id === tab))?.id
      const saved = make()
      model.focused = windowOf(saved) ?? 0
      model.look(saved)
      await one.groups.save(what === 'window' ? 'window' : 'group', 'Mail')
      await one.step()
      const before = one.text
      const { id } = one.saved('Mail')
      await one.groups.close(id)
      await one.step()
      for (const restarts of [false, true]) {
        // The saved group or window stays closed.
        if (restarts) await one.restart()
        const tab = make()
        await one.step()
        model.navigate(tab, 'https://clinic.example/')
        model.openTab('https://bank.example/', windowOf(tab), model.tab(tab).groupId)
        await one.step()
        t.same(one.text, before, `${what}, ${restarts ? 'after' : 'without'} a restart`)
        t.notOk(one.saved('Mail').isOpen)
      }
      await one.groups.remove(id)
    }
  }
})

t.test('A start page is not taken for a saved window that has only this page', async (t) => {
  const [one] = (await openBrowsers(new TabsModel('firefox', false))) as [GroupsDevice]
  await one.groups.save('window', 'Start')
  await one.step()
  await one.restart()
  await one.step()
  one.model.openTab('https://bank.example/')
  await one.step()
  t.same(one.text, ['Start grey: https://start.example/'])
  t.match(one.saved('Start'), { isOpen: false, isAlike: true })
})

t.test('Start pages are not taken for a saved window that has some of their addresses', async (t) => {
  for (const hasGroups of [true, false]) {
    const [one] = (await openBrowsers(new TabsModel('chrome', hasGroups))) as [GroupsDevice]
    const { model } = one
    model.openTab(a)
    await one.groups.save('window', 'Mail')
    await one.step()
    const before = one.text
    await one.restart(() => model.navigate(model.windows[0]?.tabs[0]?.id as number, 'https://weather.example/'))
    await one.step()
    model.openTab('https://clinic.example/')
    await one.step()
    t.same(one.text, before)
    t.notOk(one.saved('Mail').isOpen)
  }
})

t.test('Opening the popup while the browser starts does not end the search for its groups', async (t) => {
  const { one } = await withGroup()
  const restored = one.model.save()
  await one.restart(() => one.model.closeWindow(one.model.focused))
  await one.groups.open('none').catch(() => {})
  restored()
  await one.step()
  t.ok(one.saved('Work').isOpen)
})

t.test('Changes are saved after some quiet seconds, and after a start only when the browser has settled', async (t) => {
  const [one] = (await openBrowsers(new TabsModel())) as [GroupsDevice]
  const sleeps: { ms: number; wake: () => void }[] = []
  one.clock = {
    now: () => Date.now(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        sleeps.push({ ms, wake: resolve })
        signal.addEventListener('abort', () => resolve(), { once: true })
      }),
  }
  one.open()
  await one.sync.syncNow()
  await one.groups.start()
  t.teardown(() => one.groups.stop())
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const group = one.model.openGroup('', 'red', [a, b])
  await turn()
  t.equal(sleeps.at(-1)?.ms, 5000, 'a browser that was just started')
  one.model.look(one.model.tabsOf(group)[0] as number)
  await one.groups.save('group', 'Work')
  one.model.openTab(c, one.model.focused, group)
  await turn()
  const { length } = sleeps
  one.model.openTab(d, one.model.focused, group)
  await turn()
  t.ok(sleeps.length > length, 'each event begins the wait again')
  t.same(one.text, [`Work red: ${a} ${b}`])
  for (const { wake } of sleeps) wake()
  while (one.text[0]?.length !== `Work red: ${a} ${b} ${c} ${d}`.length) await turn()
  t.same(one.text, [`Work red: ${a} ${b} ${c} ${d}`])
})
