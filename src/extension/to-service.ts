import { spreadPositions } from '../client/bookmark/spread-positions.ts'
import { kindOf } from '../client/bookmark/tree.ts'
import type { PlaintextBookmark } from '../client/bookmark.ts'
import { markedId, markedRoles, markOf } from '../client/bookmark-file/marks.ts'
import type { Patch } from '../client/sync/edits/put.ts'
import { paced } from '../client/timing/paced.ts'
import type { Merged, MergedEntry } from './merge.ts'
import { idsInPlace, insertAfter, ranks } from './order.ts'
import type { Trees } from './pair.ts'
import { contentOf, isLeftAlone, isSameContent, newBookmark, rootKey, type ServiceTree, topLevel } from './trees.ts'

export interface ServiceChange {
  id: string
  patch: Patch
  /** The version that the change is based on: at a conflict, with the title and address last agreed on. */
  seen: Readonly<PlaintextBookmark>
}

/** The changes to send to the service. */
export interface ServicePlan {
  added: PlaintextBookmark[]
  changed: ServiceChange[]
  removed: string[]
}

export async function planService(
  merged: Merged,
  trees: Pick<Trees, 'browser' | 'service'>,
  deviceId: string,
): Promise<ServicePlan> {
  const { service } = trees
  const plan: ServicePlan = { added: [], changed: [], removed: findRemoved(merged, service) }
  const planFolder = ([key, order]: [string, string[]]) => {
    const list = service.lists.get(key) ?? []
    const entries = order.map((id) => merged.entries.get(id) as MergedEntry)
    if (entries.every(isDone) && isInOrder(order, list)) return
    const place = findPlace(key, merged, trees, plan)
    if (!place) return
    const positions = findPositions(order, list, merged, deviceId)
    for (const entry of entries) planEntry(plan, entry, place, positions)
    for (const bookmark of list) {
      const position = merged.entries.has(bookmark.id) ? undefined : positions.get(bookmark.id)
      if (position) plan.changed.push({ id: bookmark.id, patch: { position }, seen: bookmark })
    }
  }
  await paced(merged.orders, planFolder)
  return plan
}

/** Separators and queries that the browser does not show are removed with the folder around them. */
function findRemoved({ leavingService }: Merged, service: ServiceTree): string[] {
  return leavingService.flatMap(({ id }) => {
    const isLost = (bookmark: Readonly<PlaintextBookmark>) =>
      kindOf(bookmark) === 'separator' ? !service.entries.has(bookmark.id) : isLeftAlone(bookmark.url)
    return [id, ...(service.lists.get(id) ?? []).filter(isLost).map((bookmark) => bookmark.id)]
  })
}

function isDone({ service, parent, forService }: MergedEntry): boolean {
  return service?.parent === parent && isSameContent(service, forService)
}

function isInOrder(order: readonly string[], list: readonly Readonly<PlaintextBookmark>[]): boolean {
  const rank = ranks(order)
  let last = -1
  for (const { id } of list) {
    const at = rank.get(id)
    if (at === undefined) continue
    if (at < last) return false
    last = at
  }
  return true
}

function findPositions(
  order: readonly string[],
  list: readonly Readonly<PlaintextBookmark>[],
  { entries }: Merged,
  deviceId: string,
): Map<string, string> {
  const there = new Map(list.map((bookmark, rank) => [bookmark.id, { rank, position: bookmark.position }]))
  const ids = [...there.keys()]
  const own = new Set(order)
  const desired = insertAfter(
    order,
    ids.filter((id) => own.has(id) || !entries.has(id)),
  )
  const steady = idsInPlace(desired, (id) => there.get(id)?.rank)
  const isSteady = (id: string) => (steady.has(id) ? { position: there.get(id)?.position } : undefined)
  return spreadPositions(desired, isSteady, deviceId)
}

/** Finds an entry's folder at the service, or undefined. Plans a marked folder if that is missing. */
function findPlace(
  key: string,
  merged: Merged,
  { browser, service }: Pick<Trees, 'browser' | 'service'>,
  plan: ServicePlan,
): { parentId: string | undefined } | undefined {
  if (key === topLevel) return { parentId: undefined }
  const role = markedRoles.find((role) => rootKey(role) === key)
  if (!role) return service.entries.has(key) || merged.entries.has(key) ? { parentId: key } : undefined
  const marked = service.marked.get(role)
  if (marked !== undefined) return { parentId: marked }
  const id = markedId(role)
  const title = browser.roots.get(role)?.title ?? role
  plan.added.push({ id, title, attributes: { [markOf[role]]: 'true' }, source: 'bookmarks' })
  return { parentId: id }
}

function planEntry(
  plan: ServicePlan,
  entry: MergedEntry,
  { parentId }: { parentId: string | undefined },
  positions: ReadonlyMap<string, string>,
): void {
  const { id, kind, service, browser, forService, isConflict, row, before } = entry
  const position = positions.get(id)
  const content = contentOf(forService)
  if (!service) {
    const place = { ...(parentId !== undefined && { parentId }), ...(position !== undefined && { position }) }
    const { parentId: _, position: __, ...kept } = before ?? {}
    const made = newBookmark(id, { kind, ...content, dateAdded: browser?.dateAdded }, place)
    plan.added.push({ ...made, ...kept, ...content })
    return
  }
  const patch: Patch = {
    ...(service.title !== content.title && { title: content.title }),
    ...(service.url !== content.url && { url: content.url }),
    ...(service.parent !== entry.parent && { parentId }),
    ...(position !== undefined && { position }),
  }
  if (Object.keys(patch).length === 0) return
  const seen = isConflict && row ? { ...service.bookmark, ...row.content } : service.bookmark
  plan.changed.push({ id, patch, seen: seen as PlaintextBookmark })
}
