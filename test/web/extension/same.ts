import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Sync, TreeNode } from '../../../src/client/index.ts'
import type { BrowserNode } from '../../../src/extension/index.ts'
import type { Installed } from './installed.ts'
import { link } from './user.ts'

/** What a scenario's folder is to show: a line for each bookmark, `folder/` for each folder, two spaces a level. */
export interface Expected {
  oneOf: string[][]
  inAnyOrder?: true
}

export const exactly = (...lines: string[]): Expected => ({ oneOf: [lines] })
export const oneOf = (...oneOf: string[][]): Expected => ({ oneOf })
export const inAnyOrder = (...lines: string[]): Expected => ({ oneOf: [lines], inAnyOrder: true })

/** A busy machine is not a fault: nothing takes as long as this unless it never happens. */
const patienceMs = Number(process.env.PATIENCE ?? 600_000)

/** The two browsers, and the service's records as a third device reads them. */
export interface Sides {
  one: Installed
  two: Installed
  elsewhere: Sync
}

/**
 * Waits until all three sides show the same, and the scenario's folder what is expected. Outside of it everything must be as
 * it was before: so nothing was lost and nothing doubled, also of what earlier scenarios have left.
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

/** As they are now. */
export async function readSides({ one, two, elsewhere }: Sides): Promise<string[][]> {
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

/** What is outside of the scenario's folder, in a side as it is now. */
export async function readOutside(sides: Sides, folder: string): Promise<string[]> {
  return split(linesOf(await sides.one.roots()), folder).outside
}

/** What is in the scenario's folder, without what indents it, and the lines around that. */
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

/** As Chrome is to show them. */
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
