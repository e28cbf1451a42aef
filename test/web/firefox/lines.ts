import type { Sync, TreeNode } from '../../../src/client/index.ts'
import type { BrowserNode } from '../../../src/extension/index.ts'

export const [toolbar, other, menu, mobile] = ['toolbar_____', 'unfiled_____', 'menu________', 'mobile______'] as const

const markOf: Record<string, string | undefined> = {
  [toolbar]: 'personal_toolbar_folder',
  [menu]: 'bookmarks_menu_folder',
  [mobile]: 'mobile_bookmarks_folder',
}

/** Firefox's bookmarks as lines `title url`, indented by two spaces per level. Its queries are left out. */
export function linesOf(roots: readonly BrowserNode[]): string[] {
  const write = (nodes: BrowserNode[] = [], indent: string): string[] =>
    nodes
      .filter(({ url }) => !url?.startsWith('place:'))
      .flatMap((node) => [lineOf(indent, node), ...write(node.children, `${indent}  `)])
  return [toolbar, other, menu, mobile].flatMap((root) => [
    root,
    ...write(roots.find(({ id }) => id === root)?.children, '  '),
  ])
}

/** The lines that Firefox must show, from the service's records. */
export function recordsOf(sync: Pick<Sync, 'tree'>): string[] {
  const write = (nodes: TreeNode[], indent: string): string[] =>
    nodes.flatMap(({ bookmark, children }) => [lineOf(indent, bookmark), ...write(children, `${indent}  `)])
  const rootOf = ({ bookmark: { attributes } }: TreeNode) =>
    [toolbar, menu, mobile].find((root) => attributes?.[markOf[root] as string] === 'true') ?? other
  const tree = sync.tree()
  return [toolbar, other, menu, mobile].flatMap((root) => {
    const inRoot = tree.filter((node) => rootOf(node) === root)
    return [root, ...write(root === other ? inRoot : inRoot.flatMap(({ children }) => children), '  ')]
  })
}

function lineOf(
  indent: string,
  { title, url, type }: { title?: string; url?: string | undefined; type?: unknown },
): string {
  if (type === 'separator') return `${indent}---`
  return `${indent}${url === undefined ? `${title}/` : `${title} ${url}`}`
}

type Matcher = (lines: string[]) => boolean

export function has(...titles: string[]): Matcher {
  return (lines) => titles.every((title) => named(lines).includes(title))
}

export function hasNot(title: string): Matcher {
  return (lines) => !has(title)(lines)
}

/** Matches if these titles are in consecutive lines. */
export function inRow(...titles: string[]): Matcher {
  return (lines) => ` ${named(lines).join(' ')} `.includes(` ${titles.join(' ')} `)
}

export function count(pattern: RegExp): (lines: string[]) => number {
  return (lines) => lines.filter((line) => pattern.test(line)).length
}

/** The titles at the top of one of Firefox's own folders. */
export function inSection(lines: string[], root: string): (string | undefined)[] {
  const start = lines.indexOf(root)
  const length = lines.slice(start + 1).findIndex((line) => !line.startsWith(' '))
  return named(lines.slice(start + 1, length === -1 ? undefined : start + 1 + length))
}

function named(lines: string[]): (string | undefined)[] {
  return lines.map((line) => line.trim().split(' ')[0])
}
