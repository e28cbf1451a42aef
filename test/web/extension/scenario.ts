import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Sync, TreeNode } from '../../../src/client/index.ts'
import type { BrowserNode } from '../../../src/extension/index.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { bar, type Installed } from './installed.ts'
import type { Account } from './set-up.ts'

/** Everything that a scenario can use: two browsers, a third device, and their service. */
export interface World {
  /** The title of the scenario's folder. */
  folder: string
  one: User
  two: User
  /** A device of the same person that is not a browser. */
  elsewhere: Account
  /** Waits until all browsers show these bookmarks. */
  same(expected: Expected): Promise<void>
  service(): Service
  /** Stops the service, does the work, and starts it again. Then both users press “Sync now” at once. */
  withoutService(work: () => Promise<unknown>): Promise<void>
  /** Moves the service to another address during the work. */
  moved(work: (origin: string) => Promise<unknown>): Promise<void>
  /** Restarts the service, to which the browsers reconnect. */
  restart(): Promise<void>
  /** Runs a command of the operator. The service is stopped during a restore. */
  operator: { backUp(): Promise<string>; restore(backup: string): Promise<void> }
}

/** Events, and the tree that all must show afterwards. Scenarios do not depend on each other. */
export interface Scenario {
  title: string
  run(world: World): Promise<Expected>
}

export function scenario(title: string, run: Scenario['run']): Scenario {
  return { title, run }
}

interface Place {
  /** A folder of the scenario, by its title, or a root of the browser, by its id. */
  into?: string
  index?: number
}

declare const chrome: { bookmarks: { create(node: object): Promise<BrowserNode> } }

/** The default address of a bookmark, by its title. */
export const link = (title: string) => `https://example.org/${encodeURIComponent(title)}`

/** The user of one browser, working in the scenario's folder. Bookmarks are named by their titles. */
export class User {
  readonly browser: Installed
  readonly #folder: string

  constructor(browser: Installed, folder: string) {
    this.browser = browser
    this.#folder = folder
  }

  async begin(): Promise<void> {
    await this.browser.call('create', { parentId: bar, title: this.#folder })
  }

  async add(title: string, place: Place = {}, url = link(title)): Promise<void> {
    await this.browser.call('create', { ...(await this.#placeOf(place)), title, url })
  }

  async addFolder(title: string, place: Place = {}): Promise<void> {
    await this.browser.call('create', { ...(await this.#placeOf(place)), title })
  }

  /** Adds bookmarks like an import of the browser: one after another, without a pause. */
  async addMany(titles: string[], place: Place = {}): Promise<void> {
    const { parentId } = await this.#placeOf(place)
    const nodes = titles.map((title) => ({ parentId, title, url: link(title) }))
    await this.browser.page.evaluate(async (nodes) => {
      for (const node of nodes) await chrome.bookmarks.create(node)
    }, nodes)
  }

  async retitle(title: string, to: string): Promise<void> {
    await this.browser.call('update', (await this.find(title)).id, { title: to })
  }

  async readdress(title: string, url: string): Promise<void> {
    await this.browser.call('update', (await this.find(title)).id, { title, url })
  }

  /** `index` counts with the bookmark in its old place. Default: the end. */
  async move(title: string, place: Place): Promise<void> {
    const { id } = await this.find(title)
    const { parentId, index } = await this.#placeOf(place)
    const [folder] = await this.browser.call('getSubTree', parentId)
    await this.browser.call('move', id, { parentId, index: index ?? folder?.children?.length ?? 0 })
  }

  /** Waits until one of these bookmarks is in this root, where the sync has put it, and moves it to its place. */
  async takeFrom(root: string, titles: string[], place: Place = {}): Promise<void> {
    let found: BrowserNode | undefined
    await until(async () => {
      const [{ children = [] } = {}] = await this.browser.call('getSubTree', root)
      found = children.find(({ title }) => titles.includes(title))
      return found !== undefined
    })
    const { parentId, index = 0 } = await this.#placeOf(place)
    await this.browser.call('move', found?.id ?? '', { parentId, index })
  }

  /** Moves the contents of a folder to another one. */
  async cutAndPaste(from: string, to: string): Promise<void> {
    const { children = [] } = await this.find(from)
    const ids = children.map(({ id }) => id)
    await this.browser.cutAndPaste(ids, (await this.find(to)).id)
  }

  async remove(title: string): Promise<void> {
    await this.browser.call('removeTree', (await this.find(title)).id)
  }

  /** The first node with this title, or the scenario's folder itself. */
  async find(title: string): Promise<BrowserNode> {
    const pending = (await this.browser.roots()).flatMap(({ children = [] }) => children)
    const folder = pending.find((node) => node.title === this.#folder)
    if (title === this.#folder && folder) return folder
    const inside = [...(folder?.children ?? [])]
    for (const node of inside) {
      if (node.title === title) return node
      inside.push(...(node.children ?? []))
    }
    throw new Error(`There is no ${title} in ${this.#folder}`)
  }

  /** The title of the folder that contains this bookmark. */
  async folderOf(title: string): Promise<string> {
    const { parentId = '' } = await this.find(title)
    return (await this.browser.call('getSubTree', parentId))[0]?.title ?? ''
  }

  /** The titles in the scenario's folder. */
  async titles(): Promise<string[]> {
    return ((await this.find(this.#folder)).children ?? []).map(({ title }) => title)
  }

  async #placeOf({ into = this.#folder, index }: Place): Promise<{ parentId: string; index?: number }> {
    const parentId = /^\d$/.test(into) ? into : (await this.find(into)).id
    return { parentId, ...(index !== undefined && { index }) }
  }
}

/** The expected scenario folder: a line per bookmark, `folder/` for each folder, indented by two spaces per level. */
interface Expected {
  oneOf: string[][]
  inAnyOrder?: true
}

export const exactly = (...lines: string[]): Expected => ({ oneOf: [lines] })
export const oneOf = (...oneOf: string[][]): Expected => ({ oneOf })
export const inAnyOrder = (...lines: string[]): Expected => ({ oneOf: [lines], inAnyOrder: true })

/** A long limit, so that a busy machine does not fail a scenario. */
const patienceMs = Number(process.env.PATIENCE ?? 600_000)

/** The two browsers, and the service's records as a third device reads them. */
export interface Sides {
  one: Installed
  two: Installed
  elsewhere: Sync
}

/**
 * Waits until all three sides show the same, and the scenario's folder is as expected. Everything outside must be as
 * before, so that nothing of earlier scenarios is lost or duplicated.
 */
export async function untilSame(sides: Sides, folder: string, outside: string[], expected: Expected): Promise<void> {
  const end = performance.now() + patienceMs
  for (;;) {
    const start = performance.now()
    const shown = await readSides(sides)
    const [first = []] = shown
    if (shown.every((lines) => isDeepStrictEqual(lines, first)) && isAsExpected(first, folder, outside, expected))
      return
    if (performance.now() > end) {
      const faults = shown.flatMap((lines) => faultsOf(lines, folder, outside))
      const texts = shown.map((lines) => split(lines, folder).inside.slice(0, 60).join('\n'))
      throw new Error([...faults.slice(0, 9), ...texts].join('\n---\n'))
    }
    await sleep(Math.max(100, performance.now() - start))
  }
}

/** The current lines of all sides. */
async function readSides({ one, two, elsewhere }: Sides): Promise<string[][]> {
  await elsewhere.syncNow().catch(() => {})
  await elsewhere.approveDeletions(elsewhere.heldDeletions().map(({ id }) => id))
  return [linesOf(await one.roots()), linesOf(await two.roots()), recordsOf(elsewhere)]
}

function isAsExpected(lines: string[], folder: string, outside: string[], { oneOf, inAnyOrder }: Expected): boolean {
  const found = split(lines, folder)
  const order = (lines: string[]) => (inAnyOrder ? lines.toSorted() : lines)
  const inside = order(found.inside)
  return isDeepStrictEqual(found.outside, outside) && oneOf.some((lines) => isDeepStrictEqual(inside, order(lines)))
}

function faultsOf(lines: string[], folder: string, outside: string[]): string[] {
  const found = split(lines, folder).outside
  const [before, now] = [new Set(outside), new Set(found)]
  return [
    ...found.filter((line) => !before.has(line)).map((line) => `more than before: ${line}`),
    ...outside.filter((line) => !now.has(line)).map((line) => `lost: ${line}`),
    ...(found.length === outside.length ? [] : [`${found.length} instead of ${outside.length}`]),
  ]
}

/** The current bookmarks outside of the scenario's folder, on one side. */
export async function readOutside(sides: Sides, folder: string): Promise<string[]> {
  return split(linesOf(await sides.one.roots()), folder).outside
}

/** The lines of the scenario's folder, without their common indentation, and the lines around them. */
function split(lines: string[], folder: string): { inside: string[]; outside: string[] } {
  const depthOf = (line = '') => line.length - line.trimStart().length
  const start = lines.findIndex((line) => line.trim() === `${folder}/`)
  if (start === -1) return { inside: [], outside: lines }
  const depth = depthOf(lines[start])
  const rest = lines.findIndex((line, index) => index > start && depthOf(line) <= depth)
  const end = rest === -1 ? lines.length : rest
  return {
    inside: lines.slice(start + 1, end).map((line) => line.slice(depth + 2)),
    outside: lines.filter((_, index) => index < start || index >= end),
  }
}

function lineOf(title: string, url: string | undefined, indent: string): string {
  if (url === undefined) return `${indent}${title}/`
  return `${indent}${title}${url === link(title) ? '' : ` ${url}`}`
}

function linesOf(roots: BrowserNode[]): string[] {
  const write = (nodes: BrowserNode[] = [], indent: string): string[] =>
    nodes.flatMap(({ title, url, children }) => [lineOf(title, url, indent), ...write(children, `${indent}  `)])
  return write(roots, '')
}

/** The lines that Chrome must show, from the records of the service. */
function recordsOf(sync: Sync): string[] {
  const write = (nodes: TreeNode[], indent: string): string[] =>
    nodes.flatMap(({ bookmark: { title, url }, children }) => [
      lineOf(title, url, indent),
      ...write(children, `${indent}  `),
    ])
  const isBar = ({ bookmark }: TreeNode) => bookmark.attributes?.personal_toolbar_folder === 'true'
  const tree = sync.tree()
  const inBar = tree.filter(isBar).flatMap(({ children }) => write(children, '  '))
  const outside = tree.filter((node) => !isBar(node))
  return ['Bookmarks bar/', ...inBar, 'Other bookmarks/', ...write(outside, '  ')]
}
