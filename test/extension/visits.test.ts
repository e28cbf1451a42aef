import t from 'tap'
import { isOfSite, readSites, storedAddress } from '../../src/extension/visits/address.ts'
import { day, eraseOnPage, type HistoryDevice, idOf, minute, openHistory, settle } from './visits-device.ts'

const page = 'https://news.example/a'

t.test('Addresses are stored without password and fragment, and only those of web pages', async (t) => {
  t.equal(storedAddress('https://a.example/x?q=1#part'), 'https://a.example/x?q=1')
  t.equal(storedAddress('https://a.example/#/inbox/3'), 'https://a.example/#/inbox/3')
  t.equal(storedAddress('https://a.example/#!inbox'), 'https://a.example/#!inbox')
  t.equal(storedAddress('https://user:secret@a.example/'), 'https://a.example/')
  for (const url of ['about:config', 'file:///etc/passwd', 'data:text/html,x', 'moz-extension://x/', undefined, ''])
    t.equal(storedAddress(url), undefined, `${url}`)
  t.equal(storedAddress(`https://a.example/${'x'.repeat(5000)}`), undefined)
  const { sites } = readSites('www.bank.example, https://mail.example/inbox\n\nnot a site!')
  t.same(sites.slice(0, 2), ['bank.example', 'mail.example'])
  t.ok(isOfSite('https://login.bank.example/', sites))
  t.notOk(isOfSite('https://mybank.example/', sites))
})

t.test('A visit arrives elsewhere after a minute, with its time; Firefox lists it, Chrome does not', async (t) => {
  const [chrome, firefox, other] = await openHistory('chrome', 'firefox', 'chrome')
  await settle(chrome, firefox, other)
  const time = Math.floor(chrome.model.visit(page, { title: 'News' }))
  t.ok(chrome.isAwake)
  await chrome.round()
  await firefox.exchange()
  await other.exchange()
  const visits = [new Date(time).toISOString()]
  const expected = { id: idOf(page), url: page, title: 'News', dateAdded: visits[0], dateVisited: visits[0], visits }
  for (const device of [firefox, other]) t.match(device.entry(page), { ...expected, visitCount: 1, source: 'history' })
  t.same(firefox.model.pages.get(page), { title: 'News', visits: [{ transition: 'link', visitTime: time }] })
  t.equal(other.model.pages.size, 0)
  await settle(firefox, chrome, other)
  t.match(firefox.entry(page), { visits, visitCount: 1 }, 'what Firefox was given is not a visit of its own')
  firefox.model.visit(page, { title: 'News' })
  await settle(firefox, chrome)
  t.match(chrome.entry(page), { visitCount: 2, dateAdded: visits[0] })
})

t.test('Only pages that a person went to are stored', async (t) => {
  const [device] = await openHistory('chrome')
  await device.round()
  device.model.visit('https://a.example/private', { isPrivate: true })
  device.model.visit('https://a.example/frame', { transition: 'auto_subframe' })
  device.model.visit('https://a.example/redirect', { isHidden: true })
  device.model.visit('https://a.example/reloaded', { transition: 'reload' })
  device.model.visit('https://a.example/elsewhere', { isLocal: false })
  device.model.visit('chrome://settings/')
  device.model.visit('https://a.example/page#one')
  device.model.ahead += 1
  device.model.visit('https://a.example/page#two')
  await device.round()
  t.same(Object.keys(device.entries), ['https://a.example/page'])
  t.equal(device.entry('https://a.example/page')?.visitCount, 2)
})

t.test('Visits are pushed at most once a minute, and once more when the browser closes', async (t) => {
  const [device] = await openHistory('chrome')
  await settle(device)
  for (const name of 'abc') device.model.visit(`https://a.example/${name}`)
  await device.round()
  t.same(device.pushes, [3])
  device.model.visit('https://a.example/d')
  await device.visits.round()
  await device.sync.syncNow()
  t.same(device.pushes, [3], 'the minute has not passed')
  t.ok(device.isAwake, 'it comes back')
  device.model.ahead += 1
  await device.visits.round(true)
  await device.sync.syncNow()
  t.same(device.pushes, [3, 1])
  device.model.visit('https://a.example/e')
  device.model.ahead += 1
  await device.visits.round(true)
  await device.sync.syncNow()
  t.same(device.pushes, [3, 1], 'a browser that ends an idle worker is not closing each time')
  for (let turn = 0; turn < 5; turn++) await device.round()
  t.same([device.pushes, device.isAwake], [[3, 1, 1], false], 'idle, it sends nothing and asks for nothing')
})

t.test('A page that a person removes is removed everywhere; an earlier visit does not bring it back', async (t) => {
  const [chrome, firefox, other] = await openHistory('chrome', 'firefox', 'chrome')
  await settle(chrome, firefox, other)
  chrome.model.visit(page, { title: 'News' })
  other.model.visit(page)
  await settle(chrome, firefox, other)
  t.ok(firefox.model.pages.has(page))
  other.model.ahead = chrome.model.ahead
  other.connection.goOffline()
  other.model.visit(`${page}#part`)
  chrome.model.ahead += 1000
  chrome.model.remove(page)
  await settle(chrome, firefox)
  other.connection.goOnline()
  await settle(other, chrome, firefox)
  for (const device of [chrome, firefox, other]) {
    t.same([device.entries, [...device.model.pages.keys()]], [{}, []], device.model.flavour)
    t.notMatch(JSON.stringify([...device.sync.history.records().values()]), 'news.example')
  }
  chrome.model.visit(page)
  await settle(chrome, firefox)
  t.match(firefox.entry(page), { visitCount: 1 }, 'a later visit is there alone')
  t.ok(firefox.model.pages.has(page))
})

for (const flavour of ['chrome', 'firefox'] as const) {
  t.test(
    `Pages removed from ${flavour} while the extension is off are removed everywhere, but not expired ones`,
    async (t) => {
      const [device, other] = await openHistory(flavour, 'chrome')
      const old = 'https://a.example/old'
      const age = flavour === 'chrome' ? 88 : 58
      const urls = ['a', 'b', 'c', 'd'].map((name) => `https://a.example/${name}`)
      const [a = '', b = '', c = '', d = ''] = urls
      device.model.visit(old, { visitTime: Math.floor(device.model.now() - age * day) })
      for (const url of urls) device.model.visit(url)
      await settle(device, other)
      await settle(device, other)
      // The page is removed while the sync is paused.
      await device.visits.stop()
      device.model.remove(a)
      await device.open()
      await settle(device, other)
      t.same(Object.keys(other.entries), [b, c, d, old])
      // The page is removed as the worker starts: the event has started it.
      const opening = device.open()
      device.model.remove(b)
      await opening
      await settle(device, other)
      t.same(Object.keys(other.entries), [c, d, old])
      // The pages disappear while the browser is closed: `c` was removed, `old` has expired.
      device.model.pages.delete(c)
      device.model.pages.delete(old)
      for (const { model } of [device, other]) model.ahead += 2 * day
      await device.restart()
      await settle(device, other)
      t.same(Object.keys(other.entries), [d, old])
      device.model.pages.clear()
      await device.restart()
      device.model.visit('https://start.example/')
      await settle(device, other)
      t.ok((await device.visits.status()).isCleared, 'nothing is left: its person is asked')
      t.same(Object.keys(other.entries), [d, old, 'https://start.example/'])
    },
  )
}

for (const heard of ['before the start', 'right after the start', 'by a worker that died'])
  t.test(`A page visited again ${heard} does not hide that the history was cleared`, async (t) => {
    const [device, other] = await openHistory('firefox', 'chrome')
    const urls = [1, 2, 3, 4, 5, 6].map((age) => `https://a.example/${age}`)
    for (const [age, url] of urls.entries())
      device.model.visit(url, { visitTime: device.model.now() - (age + 1) * day })
    const home = 'https://home.example/'
    device.model.visit(home)
    other.model.visit(urls[0] ?? '')
    await settle(device, other)
    if (heard !== 'by a worker that died') await device.visits.stop()
    device.model.pages.clear()
    device.model.ahead += 1000
    if (heard !== 'right after the start') device.model.visit(home)
    await device.visits.removed({ allHistory: false })
    await device.restart()
    device.model.visit(home)
    await settle(device, other)
    t.ok((await device.visits.status()).isCleared)
    t.same([Object.keys(other.entries), other.model.pages.size], [[...urls, home], 1])
    t.same([...device.model.pages.keys()], [home], 'nothing is written back')
  })

t.test('A range removed while the extension is off is not a cleared history, even if it is most of it', async (t) => {
  const [device, other] = await openHistory('chrome', 'chrome')
  const visit = (age: number) =>
    device.model.visit(`https://a.example/${age}`, { visitTime: device.model.now() - age * day })
  for (const age of [20, 9, 5, 4, 3, 2, 1]) visit(age)
  await settle(device, other)
  const removeWhileAway = async (from: number, to: number) => {
    await device.visits.stop()
    device.model.removeRange(device.model.now() - from * day, device.model.now() - to * day)
    device.model.visit('https://home.example/')
    await device.open()
    await settle(device, other)
    t.notOk((await device.visits.status()).isCleared)
    return Object.keys(other.entries)
  }
  t.same(await removeWhileAway(6, 0), ['https://a.example/20', 'https://a.example/9', 'https://home.example/'])
  t.same(await removeWhileAway(30, 8), ['https://home.example/'], 'also the oldest')
})

t.test(
  'A removal counts before the visit is stored, during a pause, and for a page that was never stored here',
  async (t) => {
    const [one, other] = await openHistory('chrome', 'chrome')
    await settle(one, other)
    const remove = async (message: string) => {
      other.model.ahead = one.model.ahead += minute
      other.model.remove(page)
      await settle(other, one)
      t.same(one.entries, {}, message)
    }
    const visit = (device: typeof one) => {
      other.model.ahead = one.model.ahead += minute
      device.model.visit(page)
    }
    visit(one)
    await settle(one, other)
    visit(other)
    await remove('the last visit was not stored yet')
    visit(one)
    await settle(one, other)
    await other.visits.pause()
    visit(other)
    await remove('the visit is one of a pause')
    visit(other)
    visit(one)
    await settle(one, other)
    await other.restart()
    await remove('the entry came after the visit')
  },
)

t.test('Of two removals the later one counts, also for a visit between them', async (t) => {
  const [chrome, firefox] = await openHistory('chrome', 'firefox')
  chrome.model.visit(page)
  await settle(chrome, firefox)
  chrome.model.remove(page)
  await chrome.round()
  chrome.model.ahead += 1000
  chrome.model.visit(page)
  firefox.model.ahead = chrome.model.ahead + 1000
  firefox.model.remove(page)
  await settle(firefox, chrome)
  t.same([chrome.entries, chrome.model.pages.size], [{}, 0])
})

t.test('Visits that are removed from Firefox by a time range are not written to it again', async (t) => {
  const [chrome, firefox] = await openHistory('chrome', 'firefox')
  const visit = ({ model }: HistoryDevice) => {
    chrome.model.ahead = firefox.model.ahead = Math.max(chrome.model.ahead, firefox.model.ahead) + day
    return Math.floor(model.visit(page))
  }
  const times = () => firefox.model.pages.get(page)?.visits.map(({ visitTime }) => visitTime)
  const first = visit(firefox)
  await settle(chrome, firefox)
  const own = visit(firefox)
  await settle(chrome, firefox)
  const given = visit(chrome)
  await settle(chrome, firefox)
  t.same(times(), [first, own, given])
  firefox.model.removeRange(own, given)
  const last = visit(chrome)
  await settle(chrome, firefox)
  t.same(times(), [first, last])
  await firefox.turnOff()
  await firefox.open()
  await settle(firefox, chrome)
  t.same(times(), [first, last], 'nor after it was off')
})

t.test('An entry that a browser refuses does not stop the others', async (t) => {
  for (const flavour of ['chrome', 'firefox'] as const) {
    const [device, other] = await openHistory(flavour, 'chrome')
    await settle(device, other)
    const time = new Date(other.model.now()).toISOString()
    for (const url of ['javascript:alert(1)', 'https://refused.example/']) {
      const visited = { dateAdded: time, dateVisited: time, visits: [time], visitCount: 1 }
      await other.sync.history.put({ id: idOf(url), url, title: '', source: 'history', ...visited })
    }
    other.model.visit(page, { title: 'x\u0000\u202ey' })
    await settle(other)
    device.model.refused = 'https://refused.example/'
    device.model.visit('https://own.example/')
    await settle(device, other)
    t.ok(other.entry('https://own.example/'))
    t.same([...device.model.pages.keys()], ['https://own.example/', ...(flavour === 'firefox' ? [page] : [])])
    t.equal(device.model.pages.get(page)?.title, flavour === 'firefox' ? 'x  y' : undefined)
    device.model.refused = ''
    device.model.isForgetful = true
    await settle(device)
    await device.restart()
    await settle(device, other)
    t.ok(other.entry('https://refused.example/'), 'nor is it removed because the browser does not have it')
  }
})

t.test('A page stays if only its address with a fragment is removed', async (t) => {
  const [chrome, firefox] = await openHistory('chrome', 'firefox')
  chrome.model.visit(page)
  chrome.model.visit(`${page}#part`)
  await settle(chrome, firefox)
  chrome.model.remove(`${page}#part`)
  await settle(chrome, firefox)
  t.same([chrome.model.pages.size, firefox.model.pages.size, Object.keys(firefox.entries)], [1, 1, [page]])
  chrome.model.remove(page)
  await settle(chrome, firefox)
  t.same([firefox.model.pages.size, firefox.entries], [0, {}])
  const odd = 'https://a.example/%C3%A4'
  chrome.model.visit(`${odd}#part`)
  await settle(chrome, firefox)
  await chrome.restart()
  await settle(chrome, firefox)
  t.same(Object.keys(firefox.entries), [odd], 'also if the browser does not find it by its address')
})

t.test('Of a removed page, only a later visit of another device stays', async (t) => {
  const [chrome, firefox] = await openHistory('chrome', 'firefox')
  chrome.model.visit(page)
  await settle(chrome, firefox)
  firefox.model.ahead = chrome.model.ahead
  chrome.model.remove(page)
  firefox.model.ahead += 1000
  const time = firefox.model.visit(page)
  // Both devices store their change before they know of the other's.
  firefox.connection.goOffline()
  await firefox.visits.round(true)
  await chrome.round()
  firefox.connection.goOnline()
  await settle(firefox, chrome, firefox)
  for (const device of [chrome, firefox]) t.same(device.entries, { [page]: [new Date(time).toISOString()] })
  t.ok(firefox.model.pages.has(page))
})

for (const flavour of ['chrome', 'firefox'] as const) {
  t.test(`Pages that ${flavour} expires stay on other devices, and are not written back`, async (t) => {
    const [device, other] = await openHistory(flavour, 'chrome')
    const ages = flavour === 'chrome' ? [89.5, 30] : [62, 40, 30]
    await device.visits.change({ keptDays: 365, sites: [] })
    await other.visits.change({ keptDays: 365, sites: [] })
    for (const age of ages)
      device.model.visit(`https://a.example/${age}`, { visitTime: device.model.now() - age * day })
    await settle(device, other)
    await settle(device, other)
    t.equal(Object.keys(other.entries).length, ages.length)
    const oldest = ages.slice(0, -1).map((age) => age * day)
    // Firefox expires young pages only if its history has many.
    const many = Array.from({ length: 5000 }, (_, nr) => `about:${nr}`)
    for (const url of many) device.model.visit(url)
    device.model.removeRange(0, device.model.now() - Math.min(...oldest) + minute)
    await device.exchange()
    for (const url of many) device.model.pages.delete(url)
    t.equal(device.model.pages.size, 1)
    await settle(device, other)
    t.equal(Object.keys(other.entries).length, ages.length)
    t.equal(device.model.pages.size, 1)
    device.model.remove('https://a.example/30')
    await settle(device, other)
    t.equal(Object.keys(other.entries).length, ages.length - Number(flavour === 'chrome'))
  })
}

t.test('In a small Firefox history, missing oldest pages count as removed until they are two months old', async (t) => {
  const [device, other] = await openHistory('firefox', 'chrome')
  const ages = [62, 50, 20, 9, 1]
  for (const age of ages) device.model.visit(`https://a.example/${age}`, { visitTime: device.model.now() - age * day })
  await settle(device, other)
  device.model.removeRange(0, device.model.now() - 8 * day)
  await settle(device, other)
  t.same(Object.keys(other.entries), ['https://a.example/1', 'https://a.example/62'])
})

t.test('In Firefox, a missing page of some weeks counts as removed while older ones are there', async (t) => {
  const [device] = await openHistory('firefox')
  for (const age of [40, 30, 1])
    device.model.visit(`https://a.example/${age}`, { visitTime: device.model.now() - age * day })
  await settle(device)
  device.model.remove('https://a.example/30')
  device.model.remove('https://a.example/1')
  await settle(device)
  t.same(Object.keys(device.entries), ['https://a.example/40'])
})

t.test('A cleared history is a question: nothing changes elsewhere until it is answered', async (t) => {
  const [firefox, other] = await openHistory('firefox', 'firefox')
  other.model.visit('https://b.example/')
  firefox.model.visit(page)
  await settle(firefox, other)
  await settle(firefox, other)
  firefox.model.clear()
  await settle(firefox, other)
  t.ok((await firefox.visits.status()).isCleared)
  t.equal(Object.keys(other.entries).length, 2)
  t.same([...firefox.model.pages.keys()], [], 'nothing is written back')
  await firefox.visits.answerCleared(false)
  await settle(firefox, other)
  t.same([firefox.model.pages.size, other.model.pages.size, (await firefox.visits.status()).isCleared], [0, 2, false])
  firefox.model.clear()
  firefox.model.ahead += 1000
  firefox.model.visit('https://new.example/')
  firefox.model.visit(page)
  await settle(firefox)
  await firefox.visits.answerCleared(true)
  await settle(firefox, other)
  t.same(Object.keys(other.entries), ['https://new.example/', page])
  t.equal(other.entry(page)?.visits?.length, 1, 'of a page that was visited again, only that visit stays')
  t.same([...other.model.pages.keys()].sort(), ['https://new.example/', page])
})

t.test('Visits of a pause are not stored, whether it lasts an hour or until its person ends it', async (t) => {
  const [device] = await openHistory('chrome')
  device.model.visit('https://a.example/before')
  device.model.ahead += 1
  await device.visits.pause(device.model.now() + 60 * minute)
  device.model.ahead += minute
  device.model.visit('https://a.example/during')
  await settle(device)
  t.same(Object.keys(device.entries), ['https://a.example/before'])
  t.type((await device.visits.status()).pausedUntil, 'number')
  device.model.ahead += 60 * minute
  device.model.visit('https://a.example/after')
  await settle(device)
  t.same(Object.keys(device.entries), ['https://a.example/after', 'https://a.example/before'])
  await device.visits.pause()
  t.equal((await device.visits.status()).pausedUntil, null)
  device.model.visit('https://a.example/never')
  device.model.ahead += 1000 * minute
  await settle(device)
  await device.visits.resume()
  await settle(device)
  t.equal(Object.keys(device.entries).length, 2)
})

t.test('Turned off and on again, the history has nothing of excluded sites, pauses and the time between', async (t) => {
  const [device] = await openHistory('chrome')
  await device.visits.change({ keptDays: 30, sites: ['bank.example'] })
  const goTo = async (name: string) => {
    device.model.ahead += minute
    device.model.visit(`https://${name}.example/`)
    device.model.ahead += minute
  }
  await goTo('bank')
  await goTo('before')
  await settle(device)
  await device.visits.pause()
  await goTo('paused')
  await device.turnOff()
  await goTo('off')
  await device.open()
  t.match(await device.visits.status(), { sites: ['bank.example'], keptDays: 30, pausedUntil: null })
  await device.visits.resume()
  await goTo('after')
  await goTo('bank')
  await settle(device)
  const stored = ['https://after.example/', 'https://before.example/']
  t.same(Object.keys(device.entries), stored)
  await device.turnOff()
  await goTo('off')
  await device.open()
  await device.visits.change({ keptDays: 90, sites: ['bank.example'] })
  await settle(device)
  t.same(Object.keys(device.entries), stored, 'also if pages are to be kept for longer')
})

t.test('A pause goes on while storing is off; if it ends meanwhile, visits before the start stay out', async (t) => {
  const [device] = await openHistory('chrome')
  await settle(device)
  const pauseAndTurnOff = async () => {
    await device.visits.pause(device.model.now() + 60 * minute)
    device.model.ahead += minute
    await device.turnOff()
    device.model.ahead += minute
    await device.turnOff()
  }
  await pauseAndTurnOff()
  await device.open()
  t.type((await device.visits.status()).pausedUntil, 'number')
  device.model.visit('https://a.example/paused')
  device.model.ahead += 60 * minute
  device.model.visit('https://a.example/after')
  await settle(device)
  await pauseAndTurnOff()
  device.model.ahead += 60 * minute
  device.model.visit('https://a.example/off')
  device.model.ahead += minute
  await device.open()
  await settle(device)
  t.same(Object.keys(device.entries), ['https://a.example/after'])
  t.equal((await device.visits.status()).pausedUntil, undefined)
})

t.test('If the clock is set back, visits of a pause, while off and before an erasure still stay out', async (t) => {
  const [device] = await openHistory('chrome')
  const { model, visits } = device
  await settle(device)
  await visits.pause()
  model.visit('https://a.example/paused')
  model.wrong -= 2 * 60 * minute
  model.visit('https://a.example/paused again')
  model.ahead += minute
  await visits.resume()
  await settle(device)
  model.wrong = 0
  await settle(device)
  await device.turnOff()
  model.wrong -= day
  model.visit('https://a.example/off')
  model.ahead += minute
  await device.open()
  await settle(device)
  model.wrong = 0
  await settle(device)
  t.same(Object.keys(device.entries), [])
  model.visit('https://a.example/erased')
  await settle(device)
  model.wrong -= 2 * 60 * minute
  await device.visits.erase()
  model.visit('https://a.example/new')
  await settle(device)
  model.wrong = 0
  await settle(device)
  t.same(Object.keys(device.entries), ['https://a.example/new'])
  for (let nth = 0; nth < 500; nth++) model.visit(`https://a.example/many/${nth}`)
  model.wrong -= 10_000 * day
  await device.visits.erase()
  model.wrong = 0
  await settle(device)
  t.same(Object.keys(device.entries), [], 'also if it starts at its first day')
})

for (const wrong of [-80 * minute, day])
  t.test(`A removal has the service’s time if its device’s clock is wrong by ${wrong / minute} minutes`, async (t) => {
    const [one, two] = await openHistory('chrome', 'chrome')
    one.model.visit(page, { title: 'Page' })
    one.model.visit('https://b.example/')
    await settle(one, two)
    two.model.ahead = one.model.ahead
    // This visit is not sent yet when the page is removed.
    two.model.visit(page)
    one.model.ahead += minute
    two.model.ahead += minute
    one.model.wrong = wrong
    one.model.remove(page)
    two.model.ahead += minute
    two.model.visit('https://b.example/')
    await settle(one, two)
    t.same(
      [one, two].map(({ entries }) => Object.keys(entries)),
      [['https://b.example/'], ['https://b.example/']],
    )
    t.notOk(two.model.pages.has(page))
    two.model.ahead = Math.max(one.model.ahead, two.model.ahead)
    two.model.visit(page, { title: 'Page' })
    one.model.visit('https://c.example/')
    await settle(two, one)
    t.equal(one.entry(page)?.visits?.length, 1, 'a later visit stays')
    t.ok(two.model.pages.has(page))
  })

t.test('A page that was visited while the clock was ahead can be removed once the clock is right', async (t) => {
  const [one, two] = await openHistory('chrome', 'chrome')
  one.model.wrong = day
  one.model.visit(page)
  one.model.visit('https://b.example/')
  await settle(one, two)
  t.equal(Object.keys(two.entries).length, 2)
  one.model.wrong = 0
  one.model.remove(page)
  await settle(one, two)
  t.same(Object.keys(two.entries), ['https://b.example/'])
})

t.test('An excluded site can be typed as a name, an address or a pattern; other words are returned', (t) => {
  const typed = [
    '*.bank.example',
    '.shop.example',
    'https://www.Mail.example/inbox?a',
    'ftp://x.example',
    'dots.example.',
  ]
  const { sites, unread } = readSites(typed.join('\n'))
  t.same(sites, ['bank.example', 'shop.example', 'mail.example', 'x.example', 'dots.example'])
  t.same(unread, [])
  for (const url of ['https://bank.example./x', 'https://login.bank.example:8443/', 'https://shop.example/'])
    t.ok(isOfSite(url, sites), url)
  t.notOk(isOfSite('https://notbank.example/', sites))
  const odd = ['*', 'about:config', 'https://', 'bank.*', '..', '::']
  t.same(readSites(`bank.example ${odd.join(' ')}`), { sites: ['bank.example'], unread: odd })
  t.end()
})

t.test('Pages of excluded sites are not stored, and stored ones are deleted when a site is added', async (t) => {
  const [device, other] = await openHistory('chrome', 'chrome')
  device.model.visit('https://login.bank.example/')
  device.model.visit(page)
  await settle(device, other)
  t.equal(Object.keys(other.entries).length, 2)
  await device.visits.change({ keptDays: 90, sites: ['bank.example'] })
  device.model.visit('https://bank.example/account')
  await settle(device, other)
  t.same([Object.keys(other.entries), device.model.pages.size], [[page], 3])
})

t.test('Entries are deleted after the days that their person has set, and a wrong clock deletes none', async (t) => {
  const [device, other] = await openHistory('chrome', 'chrome')
  for (const age of [1, 40, 80, 100, 200])
    device.model.visit(`https://a.example/${age}`, { visitTime: device.model.now() - age * day })
  await settle(device, other)
  t.same(Object.keys(other.entries), ['https://a.example/1', 'https://a.example/40', 'https://a.example/80'])
  await device.visits.change({ keptDays: 30, sites: [] })
  device.model.ahead += 60 * minute
  await settle(device, other)
  t.same(Object.keys(other.entries), ['https://a.example/1'])
  t.equal(device.model.pages.size, 5, 'the browser keeps its own')
  device.model.ahead += 1000 * day
  await settle(device, other)
  t.same(Object.keys(other.entries), ['https://a.example/1'])
  device.model.ahead = 0
  await device.visits.change({ keptDays: 365, sites: [] })
  await settle(device, other)
  t.equal(Object.keys(other.entries).length, 5, 'the browser still has them')
  device.model.visit(page)
  await settle(device)
  t.ok(device.entry(page), 'after the clock was set back')
})

t.test('Everything can be erased, also at the service; the browsers keep their own histories', async (t) => {
  const [device, other] = await openHistory('firefox', 'chrome')
  device.model.visit(page)
  other.model.visit('https://b.example/')
  await settle(device, other)
  await device.visits.erase()
  await settle(device, other)
  for (const one of [device, other]) t.same([one.entries, one.model.pages.size > 0], [{}, true])
  device.model.visit('https://c.example/')
  await settle(device, other)
  t.same(Object.keys(other.entries), ['https://c.example/'])
})

for (const by of ['a browser', 'the page'] as const)
  t.test(`What ${by} erases, a browser that still stores its earlier history does not store again`, async (t) => {
    const [one, two] = await openHistory('chrome', 'firefox')
    await one.round()
    const start = two.model.now()
    for (let nr = 0; nr < 900; nr++)
      two.model.visit(`https://old.example/${nr}`, { visitTime: Math.floor(start - nr * 60 * minute) - minute })
    await two.round()
    await one.exchange()
    t.ok((await two.visits.status()).isCatchingUp)
    two.model.visit(page)
    two.model.ahead += 5000
    one.model.ahead = two.model.ahead
    if (by === 'a browser') await one.visits.erase()
    else await eraseOnPage(one.sync, one.model.now())
    await one.exchange()
    await settle(two, one)
    await settle(two, one)
    for (const device of [one, two]) {
      t.same(device.entries, {})
      t.match(await device.visits.status(), { count: 0, isCatchingUp: false })
    }
    t.equal(two.model.pages.size, 901, 'its own history stays')
    await two.visits.change({ keptDays: 365, sites: [] })
    await two.turnOff()
    await two.open()
    two.model.visit('https://c.example/')
    await settle(two, one)
    t.same(Object.keys(one.entries), ['https://c.example/'], 'what is visited since is stored')
  })

t.test(
  'A browser that was offline as the history was erased sends and stores only what was visited since',
  async (t) => {
    const [one, two] = await openHistory('chrome', 'firefox')
    one.model.visit(page)
    two.model.visit('https://b.example/')
    await settle(one, two)
    two.model.visit(page)
    two.model.visit('https://sent.example/')
    two.model.ahead += minute
    await two.visits.round()
    two.connection.goOffline()
    two.model.visit('https://waits.example/')
    one.model.ahead = two.model.ahead += 10 * minute
    await one.visits.erase()
    await one.exchange()
    two.model.ahead += 10 * minute
    two.model.visit('https://b.example/')
    const [last] = two.model.pages.get('https://b.example/')?.visits.slice(-1) ?? []
    two.connection.goOnline()
    await settle(two, one)
    t.same(one.entries, { 'https://b.example/': [new Date(last?.visitTime ?? 0).toISOString()] })
    t.match(one.entry('https://b.example/'), { visitCount: 1, dateAdded: new Date(last?.visitTime ?? 0).toISOString() })
    t.same(two.entries, one.entries)
    t.ok(two.model.pages.has(page) && two.model.pages.has('https://waits.example/'), 'its own history stays')
  },
)

t.test('The time of an erase is kept for a year, the later one of two, also if its entry is lost', async (t) => {
  const [one, two] = await openHistory('chrome', 'chrome')
  const erasedAt = ({ sync }: HistoryDevice) => Date.parse(sync.history.get(idOf(''))?.dateModified ?? '')
  await settle(one, two)
  two.connection.goOffline()
  await two.visits.erase()
  one.model.ahead += day
  await one.visits.erase()
  const time = erasedAt(one)
  two.connection.goOnline()
  await settle(one, two)
  t.same([erasedAt(one), erasedAt(two), two.sync.history.records().size], [time, time, 1])
  await one.sync.history.remove(idOf(''))
  for (const { model } of [one, two]) model.ahead += 60 * minute
  await settle(one, two)
  t.same([erasedAt(one), erasedAt(two)], [time, time])
  const [old] = await openHistory('chrome')
  await old.sync.history.put({ id: idOf(''), title: '', source: 'history', dateModified: '2020-01-01T00:00:00.000Z' })
  await settle(old)
  t.equal(old.sync.history.records().size, 0, 'after a year, no device stores visits of before')
})

for (const wrong of [-3 * day, 3 * day])
  t.test(`A browser whose clock is wrong by ${wrong / day} days stores what it visits after an erase`, async (t) => {
    const [one, two] = await openHistory('chrome', 'chrome')
    two.model.wrong = wrong
    two.model.visit('https://old.example/')
    one.model.ahead = two.model.ahead += minute
    await one.visits.erase()
    await one.exchange()
    await settle(two, one)
    t.same([one.entries, two.entries], [{}, {}])
    one.model.visit(page)
    two.model.ahead = one.model.ahead
    for (let turn = 0; turn < 2; turn++) {
      two.model.visit(page)
      two.model.visit('https://b.example/')
      await settle(two, one)
    }
    t.equal(one.entry('https://b.example/')?.visits?.length, 2)
    t.same(one.entries, two.entries)
    t.ok(one.model.pages.has(page))
  })

t.test('Many workers store an earlier history, newest first, and new visits do not wait for that', async (t) => {
  const [device, other] = await openHistory('firefox', 'firefox')
  await settle(other)
  const start = device.model.now()
  for (let nr = 0; nr < 1300; nr++)
    device.model.visit(`https://old.example/${nr}`, { visitTime: Math.floor(start - nr * 60 * minute) - minute })
  await device.round()
  const first = Object.keys(device.entries).length
  t.ok(first > 200 && first <= 500, `${first}`)
  t.ok(device.entry('https://old.example/0'))
  t.ok((await device.visits.status()).isCatchingUp)
  device.model.visit(page)
  await device.open()
  await device.round()
  t.ok(device.entry(page))
  for (let turn = 0; turn < 8 && (await device.visits.status()).isCatchingUp; turn++) {
    await device.round()
    await device.open()
    await device.exchange()
  }
  t.equal(Object.keys(device.entries).length, 1301)
  t.ok(device.pushes.every((count) => count <= 500))
  await settle(other)
  t.equal(other.model.pages.size, 1301, 'the other Firefox lists them')
  const visits = other.model.pages.get('https://old.example/7')?.visits
  t.same(visits, device.model.pages.get('https://old.example/7')?.visits)
  await settle(device, other)
  for (const { visitCount } of device.sync.history.records().values()) if (visitCount !== 1) t.fail(`${visitCount}`)
})

/** Lets this much time pass (ms) on all devices, as if they had not slept since. */
function pass(ms: number, ...devices: HistoryDevice[]): void {
  const latest = Math.max(...devices.map(({ model }) => model.ahead))
  for (const { model } of devices) model.ahead = latest + ms
}

for (const wrong of [0, minute, 60 * minute]) {
  t.test(
    `Firefox lists visits of a device whose clock is ${wrong / minute} min ahead once their time has come`,
    async (t) => {
      const [chrome, firefox] = await openHistory('chrome', 'firefox')
      chrome.model.wrong = wrong
      await settle(chrome, firefox)
      firefox.model.visit(page)
      await settle(firefox, chrome)
      pass(minute, chrome, firefox)
      chrome.model.visit(page)
      await chrome.round()
      await firefox.exchange()
      for (let n = 0; n < 10; n++) {
        pass(10 * minute, chrome, firefox)
        await settle(firefox, chrome)
      }
      t.equal(firefox.entry(page)?.visits?.length, 2)
      t.equal(firefox.model.pages.get(page)?.visits.length, 2)
    },
  )
}

for (const family of ['chrome', 'firefox'] as const) {
  t.test(`A removal that ${family} was following when its worker ended takes no later visit along`, async (t) => {
    for (let calls = 0; calls < 12; calls++) {
      const [other, device] = await openHistory('chrome', family)
      for (const { model } of [other, device]) {
        model.visit('https://always.example/')
        model.visit(page)
      }
      await settle(other, device)
      await settle(other, device)
      pass(1000, other, device)
      other.model.remove(page)
      await other.visits.removed({ allHistory: false })
      pass(1000, other, device)
      other.model.visit(page)
      await other.round()
      pass(1000, other, device)
      device.callsLeft = calls
      await device.exchange()
      await device.restart()
      for (let n = 0; n < 3; n++) await settle(device, other)
      t.equal(other.model.pages.get(page)?.visits.length, 1, `after ${calls} calls`)
      t.equal(other.entry(page)?.visits?.length, 1, `after ${calls} calls`)
    }
  })
}
