/**
 * Two browsers in which people use the same saved groups at once. The browsers are closed, crash and restore their windows. In
 * the end both have the same groups. No tab is duplicated, lost or reopened, unless acts conflicted or a crash undid them.
 */
import fc from 'fast-check'
import t from 'tap'
import { depth } from '../support/depth.ts'
import { type GroupsDevice, twoBrowsers } from './groups-device.ts'

/** The acts of people and browsers, and how often each occurs. */
const weights = {
  ...{ step: 7, add: 6, close: 5, navigate: 3, move: 3, between: 2, rename: 1, new: 1, open: 5, update: 3, keep: 1 },
  ...{ 'put away': 1, 'close window': 1, ungroup: 1, restart: 2, crash: 1, 'save state': 3, die: 1, follow: 3 },
}
type Act = keyof typeof weights
const act = fc.oneof(
  ...Object.entries(weights).map(([act, weight]) => ({ arbitrary: fc.constant(act as Act), weight })),
)
const operation = fc.record({ who: fc.nat(1), act, chance: fc.nat(10_000) })

t.test('Saved groups survive whatever their people and browsers do', async () => {
  const property = fc.asyncProperty(fc.array(operation, { minLength: 30, maxLength: 120 }), async (operations) => {
    const walk = new Walk(await twoBrowsers())
    await walk.begin()
    for (const { who, act, chance } of operations) await walk.do(who, act, chance)
    await walk.end()
  })
  await fc.assert(property, { numRuns: depth(5, 400), endOnFailure: true })
})

/** The addresses of tabs that one person has changed since the last comparison. */
interface Done {
  closed: Set<string>
  gone: Set<string>
  moved: Set<string>
}

class Walk {
  readonly #devices: [GroupsDevice, GroupsDevice]
  readonly #done: [Done, Done] = [nothing(), nothing()]
  readonly #crashes: [(() => void)?, (() => void)?] = []
  /** Addresses that were saved, until a person has closed or left them. */
  readonly #saved = new Set<string>()
  /** Addresses that a person has closed, until a person keeps them. */
  readonly #closed = new Set<string>()
  /** Addresses of tabs that a person has moved: an edit wins over another device's delete. */
  readonly #moved = new Set<string>()
  /** For each address: all addresses of its tab, and the people who have left, closed or kept one of them. */
  readonly #visited = new Map<string, { people: Set<number>; urls: string[] }>()
  #count = 0

  constructor(devices: [GroupsDevice, GroupsDevice]) {
    this.#devices = devices
  }

  /** Saves two groups, and opens both in both browsers. */
  async begin(): Promise<void> {
    for (const who of [0, 1]) await this.do(who, 'new', 0)
    for (const who of [0, 1, 0, 1]) {
      await this.#step(who)
      for (const { id } of this.#devices[who]?.groups.list() ?? []) await this.#devices[who]?.groups.open(id)
    }
  }

  async do(who: number, act: Act, chance: number): Promise<void> {
    const device = this.#devices[who] as GroupsDevice
    const done = this.#done[who] as Done
    const { model, groups } = device
    const pick = <T>(from: readonly T[]) => from[chance % from.length]
    const group = pick([...model.groups.keys()])
    const tab = group === undefined ? undefined : pick(model.tabsOf(group))
    const saved = pick(groups.list())
    // After a crash, a group may not have been found again. Then it is not a saved one.
    const isSaved = (id: number | undefined) => device.follows(id)
    switch (act) {
      case 'step':
        return this.#step(who)
      case 'add':
        if (group !== undefined) model.openTab(this.#next(), this.#windowOf(device, group), group)
        return
      case 'close':
        // Closing the last tab closes the group, in which the tab stays saved.
        if (tab === undefined || model.tabsOf(group as number).length === 1) return
        if (isSaved(group)) {
          done.closed.add(model.tab(tab).url)
          for (const url of this.#addressesOf(model.tab(tab).url)) done.gone.add(url)
        }
        this.#visit(model.tab(tab).url, who)
        return model.close([tab])
      case 'navigate':
        if (tab === undefined || model.tab(tab).isUnloaded) return
        for (const url of this.#addressesOf(model.tab(tab).url)) done.gone.add(url)
        return model.navigate(tab, this.#nextAfter(model.tab(tab).url, who))
      case 'move':
        if (tab === undefined) return
        for (const id of model.tabsOf(group as number)) this.#moved.add(model.tab(id).url)
        return model.move(tab, chance % 3)
      case 'between': {
        const into = pick([...model.groups.keys()].reverse())
        if (tab === undefined || into === group || model.tabsOf(group as number).length === 1) return
        // A tab that comes back may change the order of those that stayed.
        for (const id of [tab, ...model.tabsOf(into as number)]) this.#moved.add(model.tab(id).url)
        done.moved.add(model.tab(tab).url)
        if (!isSaved(into)) for (const url of this.#addressesOf(model.tab(tab).url)) done.gone.add(url)
        return void model.group([tab], into)
      }
      case 'rename':
        if (group !== undefined) Object.assign(model.groups.get(group) ?? {}, { title: `renamed ${++this.#count}` })
        return
      case 'new': {
        if (groups.list().length > 3) return
        const made = model.openGroup('', 'red', [this.#next(), this.#next(), this.#next()])
        await this.#step(who)
        return device.save(made, `new ${++this.#count}`)
      }
      case 'open':
        if (saved) await groups.open(saved.id)
        return
      case 'update':
        if (!saved) return
        await this.#step(who)
        return groups.update(saved.id)
      case 'keep': {
        await this.#step(who)
        if (!saved) return
        const before = urlsIn(device)
        await groups.keep(saved.id)
        const after = urlsIn(device)
        for (const url of before) if (!after.has(url)) this.#excuse(url)
        for (const url of after) {
          this.#closed.delete(url)
          // Saving an earlier address again also changes the tab that the other person has navigated.
          if (!before.has(url) && this.#addressesOf(url).some((one) => one !== url)) this.#visit(url, who)
        }
        return
      }
      case 'follow':
        return saved && groups.follow(saved.id)
      case 'put away':
        await this.#step(who)
        return saved && groups.close(saved.id)
      case 'close window':
        this.#forget(who)
        model.closeWindow(model.focused)
        if (model.windows.length === 0) model.focused = model.openWindow('chrome://newtab/')
        return
      case 'ungroup':
        if (group !== undefined) model.group(model.tabsOf(group), -1)
        return this.#forget(who)
      case 'restart':
        this.#forget(who)
        return device.restart()
      case 'crash':
        this.#forget(who)
        return device.restart(this.#crashes[who])
      case 'save state':
        this.#crashes[who] = model.save()
        return
      case 'die':
        await device.sync.syncNow()
        await device.dieAt(chance % 8, () => groups.compareNow())
        return this.#step(who)
    }
  }

  async #step(who: number): Promise<void> {
    const device = this.#devices[who] as GroupsDevice
    await device.step()
    const { closed, gone } = this.#done[who] as Done
    for (const url of [...closed, ...gone]) this.#saved.delete(url)
    for (const url of closed) this.#closed.add(url)
    this.#done[who] = nothing()
    for (const url of urlsIn(device)) if (!this.#isUnsure(url)) this.#saved.add(url)
  }

  /** True if a person has closed the tab or left the address, which this browser may not know yet. */
  #isUnsure(url: string): boolean {
    return (
      this.#closed.has(url) ||
      this.#isExcused(url) ||
      this.#done.some(({ closed, gone }) => closed.has(url) || gone.has(url))
    )
  }

  readonly #left = new Set<string>()

  /** Accepts both results: the address may be saved in the end, or not. */
  #excuse(url: string): void {
    this.#saved.delete(url)
    this.#left.add(url)
  }

  #isExcused(url: string): boolean {
    return this.#addressesOf(url).some((one) => this.#left.has(one))
  }

  /** Accepts both results for the person's acts since the last comparison. */
  #forget(who: number): void {
    const { closed, gone, moved } = this.#done[who] as Done
    for (const url of [...closed, ...gone, ...moved]) this.#excuse(url)
    this.#done[who] = nothing()
  }

  async end(): Promise<void> {
    for (let round = 0; round < 3; round++) for (const who of [0, 1]) await this.#step(who)
    const [one, two] = this.#devices.map(({ text }) => text)
    if (JSON.stringify(one) !== JSON.stringify(two))
      throw new Error(`not the same:\n${one?.join('\n')}\n---\n${two?.join('\n')}`)
    const [device] = this.#devices
    const all = device.groups.list().flatMap(({ tabs }) => tabs.map(({ url }) => url))
    const found = new Set(all)
    // One person may have kept a tab that the other has moved into another group.
    const doubled = all.filter((url, index) => all.indexOf(url) !== index && !this.#isMoved(url))
    if (doubled.length > 0) throw new Error(`doubled: ${doubled}`)
    const lost = [...this.#saved].filter((url) => !found.has(url) && !this.#isExcused(url))
    if (lost.length > 0) throw new Error(`lost: ${lost} of\n${device.text.join('\n')}`)
    const back = [...this.#closed].filter((url) => found.has(url) && !this.#isMoved(url))
    if (back.length > 0) throw new Error(`come back: ${back} in\n${device.text.join('\n')}`)
  }

  #nextAfter(url: string, who: number): string {
    const next = this.#next()
    this.#visit(url, who, next)
    return next
  }

  /** All addresses that the tab has had. It may be saved under an earlier one. */
  #addressesOf(url: string): readonly string[] {
    return this.#visited.get(url)?.urls ?? [url]
  }

  #isMoved(url: string): boolean {
    return this.#addressesOf(url).some((one) => this.#moved.has(one))
  }

  /** If both people navigate from the same page, or close it, the later change wins. So either result is accepted. */
  #visit(url: string, who: number, next = url): void {
    const visited = this.#visited.get(url) ?? { people: new Set(), urls: [url] }
    visited.people.add(who)
    visited.urls.push(next)
    this.#visited.set(url, visited).set(next, visited)
    if (visited.people.size > 1) for (const one of visited.urls) this.#excuse(one)
  }

  #next(): string {
    return `https://example.org/${++this.#count}`
  }

  #windowOf({ model }: GroupsDevice, group: number): number {
    return model.windows.find(({ tabs }) => tabs.some(({ groupId }) => groupId === group))?.id ?? model.focused
  }
}

function nothing(): Done {
  return { closed: new Set(), gone: new Set(), moved: new Set() }
}

function urlsIn({ groups }: GroupsDevice): Set<string> {
  return new Set(groups.list().flatMap(({ tabs }) => tabs.map(({ url }) => url)))
}
