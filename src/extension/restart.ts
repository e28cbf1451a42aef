import type { AgreedRow } from './agreed.ts'
import type { BrowserEntry, BrowserTree } from './browser-tree.ts'
import { isSameContent } from './entry.ts'
import { rootKey } from './roles.ts'

/**
 * What was agreed on when the browser was last closed. If it has crashed, it may have lost what it had not written down, and
 * that must not look as if its user had undone it; if not, what was changed elsewhere since must not look like a change on
 * both sides. What the browser shows tells which it was, for each row and order by itself.
 */
export class Restart {
  readonly #browser: BrowserTree
  readonly #rows: ReadonlyMap<string, AgreedRow>
  readonly #roots: ReadonlyMap<string, string>

  constructor(browser: BrowserTree, rows: ReadonlyMap<string, AgreedRow>) {
    this.#browser = browser
    this.#rows = rows
    this.#roots = new Map([...browser.roots].map(([role, { browserId }]) => [rootKey(role), browserId]))
  }

  row(_id: string, after: AgreedRow | null, before: AgreedRow | null): AgreedRow | null {
    const entry = this.#browser.entries.get((after ?? before)?.browserId ?? '')
    // What was deleted everywhere is not in the browser either, unless that has lost the delete.
    if (!after) return before?.browserId && !entry ? null : before
    const wasThere = before && !before.step && before.browserId === after.browserId
    // After a crash, Chrome gives the ids once more.
    const isThere = entry?.dateAdded !== undefined && entry.dateAdded === after.dateAdded
    if (!wasThere && !isThere) return before
    if (!entry || !before) return after
    const isLost = isSameContent(entry, shownOf(before)) && !isSameContent(entry, shownOf(after))
    const isBack = this.#isIn(before, entry) && !this.#isIn(after, entry)
    const { content, shown, refused } = isLost ? before : after
    return { ...after, content, shown, refused, parent: (isBack ? before : after).parent }
  }

  order(key: string, after: readonly string[] | null, before: readonly string[] | null): readonly string[] | null {
    return !this.#isShown(key, after ?? []) && this.#isShown(key, before ?? []) ? before : after
  }

  #isIn({ parent }: AgreedRow, entry: BrowserEntry): boolean {
    return entry.parent === this.#folderOf(parent)
  }

  #isShown(key: string, order: readonly string[]): boolean {
    const own = order.map((id) => this.#rows.get(id)?.browserId)
    const known = new Set(own)
    const shown = this.#browser.lists.get(this.#folderOf(key) ?? '')?.filter((browserId) => known.has(browserId)) ?? []
    return shown.length === own.length && own.every((browserId, index) => browserId === shown[index])
  }

  #folderOf(key: string): string | undefined {
    return this.#roots.get(key) ?? this.#rows.get(key)?.browserId ?? undefined
  }
}

function shownOf({ content, shown = content }: AgreedRow) {
  return shown
}
