import type { PlaintextBookmark, Sync, TreeNode } from '../client/index.ts'
import { button, element } from './dom.ts'
import { openEditor } from './editor.ts'

const maxShown = 200

export interface TreeView {
  element: HTMLElement
  /** Shows the bookmarks that have the text in their title, address or tags; for an empty text, the tree. */
  search(text: string): void
}

/** Where a node is in the tree. */
interface Spot {
  siblings: TreeNode[]
  index: number
  parentId: string | undefined
}

/** The tree of bookmarks, redrawn when something has changed. Folders draw their contents when they are opened. */
export function createTreeView(sync: Sync): TreeView {
  const root = element('section', { className: 'tree', 'aria-label': 'Bookmarks' })
  const open = new Set<string>()
  let wanted = ''
  let isDue = false

  function draw(): void {
    isDue = false
    const focused = focusedControl(root)
    const nodes = sync.tree()
    root.replaceChildren(
      wanted !== '' ? drawFound(nodes) : nodes.length > 0 ? drawList(nodes, undefined) : drawNothing(),
    )
    if (focused) root.querySelector<HTMLElement>(focused)?.focus()
  }

  function drawLater(): void {
    if (!isDue) requestAnimationFrame(draw)
    isDue = true
  }

  function drawNothing(): HTMLElement {
    return element('p', {}, 'No bookmarks yet. Add one, or import a bookmark file from your browser below.')
  }

  function drawList(siblings: TreeNode[], parentId: string | undefined): HTMLElement {
    return element('ul', {}, ...siblings.map((node, index) => drawItem(node, { siblings, index, parentId })))
  }

  function drawItem(node: TreeNode, spot?: Spot): HTMLElement {
    const { bookmark } = node
    const content = isFolder(bookmark) ? drawFolder(node) : drawLink(bookmark)
    const line = element('div', { className: 'line' }, content, drawTools(node, spot))
    return element('li', { 'data-id': bookmark.id }, line)
  }

  function drawFolder({ bookmark, children }: TreeNode): HTMLElement {
    const summary = element('summary', {}, bookmark.title || 'untitled')
    const details = element('details', { open: open.has(bookmark.id) }, summary)
    const fill = () => {
      if (details.open && details.children.length === 1) details.append(drawList(children, bookmark.id))
    }
    fill()
    details.addEventListener('toggle', () => {
      if (details.open) open.add(bookmark.id)
      else open.delete(bookmark.id)
      fill()
    })
    return details
  }

  function drawFound(nodes: TreeNode[]): HTMLElement {
    const text = wanted.toLowerCase()
    const found = [...flatten(nodes)].filter(({ bookmark: { title, url = '', tags = [] } }) =>
      [title, url, ...tags].some((part) => part.toLowerCase().includes(text)),
    )
    const first = found.length > maxShown ? `, the first ${maxShown}:` : ''
    return element(
      'div',
      {},
      element('p', { role: 'status' }, `${found.length} found${first}`),
      element('ul', {}, ...found.slice(0, maxShown).map((node) => drawItem(node))),
    )
  }

  function drawTools(node: TreeNode, spot: Spot | undefined): HTMLElement {
    const { bookmark } = node
    const name = bookmark.title || bookmark.url || 'untitled'
    const tool = (sign: string, what: string, action: () => unknown) =>
      button(sign, action, { 'aria-label': `${what} ${name}`, title: what, 'data-tool': what })
    const moveBefore = ({ siblings, parentId }: Spot, index: number) =>
      sync.move(bookmark.id, { parentId, before: siblings[index]?.bookmark.id })
    return element(
      'span',
      { className: 'tools' },
      tool('✎', 'Edit', () => openEditor(sync, bookmark)),
      spot && spot.index > 0 && tool('↑', 'Move up', () => moveBefore(spot, spot.index - 1)),
      spot && spot.index < spot.siblings.length - 1 && tool('↓', 'Move down', () => moveBefore(spot, spot.index + 2)),
      tool('✕', 'Delete', () => removeWithContents(node)),
    )
  }

  async function removeWithContents(node: TreeNode): Promise<void> {
    const ids = [...flatten([node])].map(({ bookmark }) => bookmark.id)
    const question = `Delete “${node.bookmark.title}” and the ${ids.length - 1} bookmarks in it?`
    if (ids.length === 1 || confirm(question)) await sync.remove(ids)
  }

  sync.on('change', drawLater)
  draw()
  return {
    element: root,
    search(text) {
      wanted = text.trim()
      drawLater()
    },
  }
}

function isFolder({ url, type }: PlaintextBookmark): boolean {
  return url === undefined && type !== 'separator'
}

function* flatten(nodes: TreeNode[]): Generator<TreeNode> {
  const pending = [...nodes].reverse()
  for (let node = pending.pop(); node; node = pending.pop()) {
    yield node
    pending.push(...[...node.children].reverse())
  }
}

/** Only addresses that are safe to click become links: a bookmark can contain `javascript:`. */
function drawLink({ title, url, favicon, type }: PlaintextBookmark): HTMLElement {
  if (type === 'separator') return element('hr', {})
  const isIcon = favicon?.startsWith('data:image/')
  const icon = isIcon && element('img', { src: favicon, alt: '', width: 16, height: 16 })
  const text = title || url || 'untitled'
  const isSafe = /^(https?|ftp|mailto):/i.test(url ?? '')
  return isSafe
    ? element('a', { href: url, target: '_blank', rel: 'noreferrer', title: url }, icon, text)
    : element('span', { title: url }, icon, text)
}

/** A selector that finds the focused control again after redrawing. */
function focusedControl(root: HTMLElement): string | undefined {
  const active = document.activeElement
  const item = active?.closest<HTMLElement>('li[data-id]')
  if (!active || !item || !root.contains(item)) return undefined
  const tool = active.getAttribute('data-tool')
  return `li[data-id="${CSS.escape(item.dataset.id ?? '')}"] ${tool ? `[data-tool="${tool}"]` : active.tagName.toLowerCase()}`
}
