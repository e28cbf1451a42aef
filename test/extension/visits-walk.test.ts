/** Two browsers in which people visit and remove pages, while workers stop, die at any call and are offline. */
import fc from 'fast-check'
import t from 'tap'
import { depth } from '../support/depth.ts'
import { day, type HistoryDevice, minute, openHistory, settle } from './visits-device.ts'

const pages = 5
const urlOf = (page: number) => `https://a.example/${page}`

const step = fc.record({
  which: fc.nat(1),
  page: fc.nat(pages - 1),
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constant('visit' as const) },
    { weight: 6, arbitrary: fc.constant('round' as const) },
    { weight: 3, arbitrary: fc.constantFrom('remove' as const, 'exchange' as const, 'restart' as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'private' as const,
        'frame' as const,
        'expire' as const,
        'last' as const,
        'offline' as const,
        // Removes a page while the sync is paused, and as the browser is closed.
        'away' as const,
        'closed' as const,
        'pause' as const,
        'off' as const,
      ),
    },
  ),
  dies: fc.option(fc.nat(12), { freq: 4, nil: undefined }),
})

/** What the people have done, by page. */
interface Done {
  /** The last visit: its browser and its time. */
  visited?: { time: number; by: HistoryDevice }
  /** When a device that knew the page last removed it. */
  removed?: number
  /** True if the page was removed before it was stored, or the removal may not have been recognized. */
  isUncertain: boolean
}

const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
  const devices = await openHistory('chrome', 'firefox')
  // Each browser keeps one page, because an empty history would count as cleared.
  for (const { model } of devices) model.visit('https://always.example/')
  await settle(...devices)
  let wasOff = false
  const done = Array.from({ length: pages }, (): Done => ({ isUncertain: false }))
  for (const { which, page, kind, dies } of steps) {
    const device = devices[which] as HistoryDevice
    const now = Math.max(...devices.map(({ model }) => model.ahead)) + 1000
    for (const { model } of devices) model.ahead = now
    const known = done[page] as Done
    if (kind === 'visit') {
      known.visited = { time: Math.floor(device.model.visit(urlOf(page), { title: `${page}` })), by: device }
      // The event keeps the worker awake until it is handled.
      await device.visits.removed({ allHistory: false })
    } else if (kind === 'private') device.model.visit('https://private.example/', { isPrivate: true })
    else if (kind === 'frame') device.model.visit('https://frame.example/', { transition: 'auto_subframe' })
    else if (kind === 'expire') device.model.removeRange(0, device.model.now() - 89.5 * day)
    else if (kind === 'pause' || kind === 'off') {
      // Only Chrome: a Firefox that was off does not get earlier visits of the other browser.
      const isOff = kind === 'off' && device.model.flavour === 'chrome'
      wasOff ||= isOff
      await (isOff ? device.turnOff() : device.visits.pause())
      device.model.visit('https://paused.example/')
      device.model.ahead += 1
      await (isOff ? device.open() : device.visits.resume())
    } else if (kind === 'remove' || kind === 'away' || kind === 'closed') {
      // If a worker has died while it wrote a page, only the next round finds out that the browser has it.
      if (kind !== 'remove') await device.round()
      const isKnown = device.entry(urlOf(page)) !== undefined && device.model.pages.has(urlOf(page))
      if (kind === 'away') await device.visits.stop()
      if (kind === 'closed') device.model.pages.delete(urlOf(page))
      else device.model.remove(urlOf(page))
      if (kind === 'away') await device.open()
      if (kind === 'closed') await device.restart()
      // The event keeps the worker awake until it is handled.
      await device.exchange()
      if (isKnown) known.removed = device.model.now()
      else known.isUncertain = true
    } else if (kind === 'exchange') await device.exchange()
    else if (kind === 'restart') await device.open()
    else if (kind === 'last') await device.visits.round(true)
    else if (kind === 'offline') {
      device.connection.goOffline()
      await device.round()
      device.connection.goOnline()
    } else {
      if (dies !== undefined) device.callsLeft = dies
      await device.round()
      if (device.callsLeft < 0) await device.open()
      device.callsLeft = Number.POSITIVE_INFINITY
    }
  }
  await settle(...devices)
  await settle(...devices)
  const [chrome, firefox] = devices
  t.same(chrome.entries, firefox.entries, 'both have the same')
  for (const { sync } of devices) {
    const all = JSON.stringify([...sync.history.records().values()])
    if (/private|frame|paused/.test(all)) throw new Error(`what is not to be stored is: ${all}`)
  }
  for (const [page, { visited, removed = 0, isUncertain }] of done.entries()) {
    const url = urlOf(page)
    const { visits = [], visitCount = 0, title } = chrome.entry(url) ?? {}
    const early = visits.filter((visit) => Date.parse(visit) <= removed)
    if (early.length > 0) throw new Error(`${url} was removed at ${new Date(removed).toISOString()}: ${visits}`)
    const isThere = visited && visited.time > removed
    if (isThere && !isUncertain && Date.parse(visits[0] ?? '') !== visited.time) {
      throw new Error(`${url} was visited at ${new Date(visited.time).toISOString()}: ${visits}`)
    }
    if (removed === 0 && visitCount !== visits.length) throw new Error(`${url} has ${visitCount} of ${visits.length}`)
    if (visits.length > 0 && title !== `${page}`) throw new Error(`${url} has lost its title: ${title}`)
    for (const { model } of removed > 0 ? devices : []) {
      // After it was off, Chrome no longer knows which of its pages belong to entries.
      if (wasOff && model.flavour === 'chrome') continue
      const before = model.pages.get(url)?.visits.filter(({ visitTime }) => Math.floor(visitTime) <= removed) ?? []
      const since = model.pages.get(url)?.visits.filter(({ visitTime }) => Math.floor(visitTime) > removed) ?? []
      if (before.length > 0 && since.length === 0) throw new Error(`${model.flavour} still has ${url}`)
    }
    const inFirefox = new Set(
      firefox.model.pages.get(url)?.visits.map(({ visitTime }) => new Date(visitTime).toISOString()),
    )
    const lacking = isUncertain ? [] : visits.filter((visit) => !inFirefox.has(visit))
    if (lacking.length > 0) throw new Error(`Firefox lacks visits of ${url}: ${lacking}`)
  }
  t.ok(chrome.pushes.length <= steps.length + 20 && minute > 0)
})

t.test('Both end with the same pages, all that were visited and not removed, and no visit counts twice', async () => {
  await fc.assert(property, { numRuns: depth(6, 500) })
})
