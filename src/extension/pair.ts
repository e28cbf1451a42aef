import { type IdSource, idGiver } from '../client/crypto/derived-id.ts'
import { uuidv7 } from '../client/ids.ts'
import { paced } from '../client/timing/paced.ts'
import type { AgreedDraft, AgreedRow } from './agreed.ts'
import type { BookmarkWatch } from './browser-mirror.ts'
import {
  type BrowserEntry,
  type BrowserTree,
  type Content,
  isSameContent,
  type Kind,
  likenessOf,
  rootKey,
  type ServiceEntry,
  type ServiceTree,
  titleLikenessOf,
} from './trees.ts'

/** The pairs of the browser's and the service's entries. */
export interface Pairing {
  /** The service's id of each browser entry, including new ones, which the service does not have yet. */
  idOf: Map<string, string>
  browserIdOf: Map<string, string>
  /** The key of a browser folder, as in the `parent` of a `ServiceEntry`. */
  keyOf(browserFolder: string): string
}

/** Both sides, what they last agreed on, and the events that the browser has reported to this worker. */
export interface Trees {
  agreed: Pick<AgreedDraft, 'rows' | 'orders'>
  browser: BrowserTree
  service: ServiceTree
  watch: Pick<BookmarkWatch, 'created' | 'touched'>
  /** Set at the first comparison if the caller can derive ids. Gives equal bookmarks equal ids, because two browsers may both find an empty account. */
  ids: IdSource | undefined
}

type Creating = Extract<AgreedRow['step'], { kind: 'creating' }>

/**
 * If more paired links than this number, and than this share of all pairs (folders included), differ in both title and
 * address from the last comparison, the browser has given its ids to other bookmarks.
 */
const fewStrangers = 5
const smallShare = 0.2

/**
 * Pairs both sides by the agreed ids, and the rest by equal content in the same folder path. So bookmarks that are equal on
 * both sides are not duplicated after a browser has lost its ids, or the extension was installed again.
 */
export async function pairTrees(trees: Trees): Promise<Pairing> {
  const { browser } = trees
  const roots = new Map([...browser.roots].map(([role, { browserId }]) => [browserId, rootKey(role)]))
  const pairing: Pairing = {
    idOf: new Map(),
    browserIdOf: new Map(),
    keyOf: (folder) => roots.get(folder) ?? (pairing.idOf.get(folder) as string),
  }
  await pairAgreed(trees, pairing)
  if (pairing.idOf.size < browser.entries.size) {
    await pairByPath(trees, pairing)
    await pairInterrupted(trees, pairing)
  }
  return pairing
}

async function pairAgreed({ agreed: { rows }, browser: { entries } }: Trees, pairing: Pairing): Promise<void> {
  let strangers = 0
  const pairRow = ({ id, browserId, dateAdded, kind, content, shown = content, step }: AgreedRow) => {
    const entry = entries.get(browserId ?? '')
    // An entry whose kind has changed may still have a row under its old kind.
    if (entry?.kind !== kind || pairing.idOf.has(entry.browserId)) return
    const isStranger = kind === 'link' && entry.title !== shown.title && entry.url !== shown.url
    // After a crash, Chrome may give a new bookmark the id of a lost one.
    if (step && (isStranger || (dateAdded ?? entry.dateAdded) !== entry.dateAdded)) return
    pair(pairing, entry, id)
    if (isStranger) strangers++
  }
  await paced(rows.values(), pairRow)
  if (strangers <= fewStrangers || strangers <= smallShare * pairing.idOf.size) return
  pairing.idOf.clear()
  pairing.browserIdOf.clear()
}

async function pairByPath(trees: Trees, pairing: Pairing): Promise<void> {
  const { browser, service } = trees
  const newId = idsOf(trees, pairing)
  const groups = new Map<string, string>()
  const candidates = new Map<string, ServiceEntry[]>()
  const enter = (entry: ServiceEntry) => {
    const isPaired = pairing.browserIdOf.has(entry.id)
    if (isPaired && entry.kind !== 'folder') return
    const place = `${groups.get(entry.parent) ?? entry.parent}\n${likenessOf(entry)}`
    if (entry.kind === 'folder') groups.set(entry.id, place)
    if (isPaired) return
    const same = candidates.get(place) ?? []
    candidates.set(place, same)
    same.push(entry)
  }
  await paced(service.entries.values(), enter)
  const ownGroups = new Map<string, string>()
  const find = (entry: BrowserEntry) => {
    const isPaired = pairing.idOf.has(entry.browserId)
    if (isPaired && entry.kind !== 'folder') return
    const parent = pairing.keyOf(entry.parent)
    const place = `${groups.get(parent) ?? ownGroups.get(entry.parent) ?? parent}\n${likenessOf(entry)}`
    if (!isPaired) {
      const same = candidates.get(place) ?? []
      const rate = (found: ServiceEntry) => Number(found.parent === parent) * 2 + Number(isSameContent(found, entry))
      const best = same.reduce((best, one, index) => (rate(one) > rate(same[best] as ServiceEntry) ? index : best), 0)
      pair(pairing, entry, same.splice(best, 1)[0]?.id ?? newId(entry))
    }
    if (entry.kind === 'folder') ownGroups.set(entry.browserId, place)
  }
  await paced(browser.entries.values(), find)
}

/** Returns a function that gives ids to new browser entries. */
function idsOf({ browser: { roots, entries }, ids }: Trees, { browserIdOf }: Pairing): (entry: BrowserEntry) => string {
  if (!ids) return () => uuidv7()
  const give = idGiver({ ...ids, isTaken: (id) => browserIdOf.has(id) || ids.isTaken(id) })
  const places = new Map<string, string>()
  for (const [role, { browserId }] of roots) {
    places.set(browserId, role === 'other' ? '' : ids.derive({ place: '', kind: 'browser', name: role, ordinal: 0 }))
  }
  const likenessIn = ({ parent, kind, title, url }: BrowserEntry) => ({
    place: placeOf(parent),
    kind,
    name: url ?? title,
  })
  const placeOf = (folder: string): string => {
    const place = places.get(folder) ?? ids.derive({ ...likenessIn(entries.get(folder) as BrowserEntry), ordinal: 0 })
    places.set(folder, place)
    return place
  }
  return (entry) => give(likenessIn(entry))
}

/**
 * Finds entries that a dead worker was creating. The user may have changed one since, and the event may have started this
 * worker. An entry that differs is the same only if the browser has reported a change of it. Otherwise it is one that the
 * user has created, even if `created` lacks it: the worker that received that event may have died, too.
 */
async function pairInterrupted({ agreed, browser, service, watch }: Trees, pairing: Pairing): Promise<void> {
  const { rows } = agreed
  const { created, touched } = watch
  const isOpen = ({ id, step }: AgreedRow) => step?.kind === 'creating' && !pairing.browserIdOf.has(id)
  const interrupted = [...rows.values()].filter(isOpen)
  if (interrupted.length === 0) return
  const strangers = [...browser.entries.values()].filter(({ browserId }) => {
    const id = pairing.idOf.get(browserId) as string
    return !rows.has(id) && !service.entries.has(id) && !created.has(browserId)
  })
  const match = (row: AgreedRow) => {
    const since = strangers.filter(({ dateAdded = 0 }) => dateAdded >= (row.step as Creating).since)
    // A renamed folder is recognized by its place, because it has no address.
    const isRenamed = ({ kind, parent, browserId }: BrowserEntry) => {
      const list = browser.lists.get(parent) ?? []
      const behind = pairing.idOf.get(list[list.indexOf(browserId) - 1] as string)
      const isThere = pairing.keyOf(parent) === row.parent && behind === (row.step as Creating).behind
      return row.kind === 'folder' && kind === 'folder' && isThere && touched.has(browserId)
    }
    const found = since.find((entry) => isOfRow(row, entry, touched.has(entry.browserId))) ?? since.find(isRenamed)
    if (!found) return
    strangers.splice(strangers.indexOf(found), 1)
    pairing.browserIdOf.delete(pairing.idOf.get(found.browserId) as string)
    pair(pairing, found, row.id)
  }
  await paced(interrupted, match)
}

/**
 * True if the entry is what was created for the row.
 *
 * @param isTouched whether the user has changed it since the worker started; then one of a link's title and address is enough
 */
export function isOfRow({ kind, content }: AgreedRow, entry: Content & { kind: Kind }, isTouched: boolean): boolean {
  if (entry.kind !== kind) return false
  const isSameTitle = titleLikenessOf(entry.title) === titleLikenessOf(content.title)
  if (kind !== 'link') return isSameTitle
  const isSameUrl = likenessOf(entry) === likenessOf({ kind, ...content })
  return isTouched ? isSameTitle || isSameUrl : isSameTitle && isSameUrl
}

export function pair({ idOf, browserIdOf }: Pairing, { browserId }: BrowserEntry, id: string): void {
  idOf.set(browserId, id)
  browserIdOf.set(id, browserId)
}
