import type { PlaintextBookmark, Sync, SyncEvents, TreeNode } from '../../../src/client/index.ts'
import { settled } from '../sync/clock.ts'
import type { Device, Tab } from './device.ts'
import type { Happening } from './events.ts'
import { newerOf, withNewer } from './ledger.ts'
import { sourceOf } from './mixed.ts'
import type { Run } from './run.ts'

/** Ids that several devices may use for bookmarks of their own. */
const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

export const edits = {
  put(run, device, tab) {
    const { dice } = run
    const isNew = dice.happens(0.3)
    return putOne(run, device, tab, (isNew ? undefined : anId(run, tab)) ?? run.anyKey(dice.pick(ids)))
  },

  async move(run, device, tab) {
    await editable(device)
    const { dice, ledger } = run
    const id = anId(run, tab)
    if (id === undefined) return
    const parentId = dice.happens(0.3) ? undefined : anId(run, tab, id)
    const before = dice.happens(0.5) ? anId(run, tab) : undefined
    run.note(`${id} into ${parentId}`)
    const answer = ledger.begin(device.id, id, { parentId } as Partial<PlaintextBookmark>, tab.sync.get(id))
    follow(device, tab, 'move', tab.sync.move(id, { parentId, before }), answer)
  },

  remove: (run, device, tab) => removeSome(run, device, tab, run.dice.happens(0.2) ? Number.POSITIVE_INFINITY : 1),

  importMany(run, device, tab) {
    const { dice, ledger } = run
    const list = Array.from({ length: dice.between(3, 40) }, (): PlaintextBookmark => {
      const id = dice.happens(0.05) ? dice.pick(ids) : run.unique('i')
      return { id, source: 'bookmarks', ...newContent(run) }
    })
    run.note(`${list.length}`)
    const answers = new Map(list.map((one) => [one, ledger.begin(device.id, one.id, one, undefined, { yields: true })]))
    const imported = tab.sync.importBookmarks(list).then(({ existing }) => {
      // Of two with the same id, the first one is added.
      for (const [{ id }, answer] of [...answers].reverse()) {
        const place = existing.indexOf(id)
        answer(place === -1 ? 'kept' : 'refused')
        if (place !== -1) existing.splice(place, 1)
      }
    })
    follow(device, tab, 'import', imported, (outcome) => {
      if (outcome === 'refused') for (const answer of answers.values()) answer(outcome)
    })
  },

  importFile,

  /** The first time, only creates an export. Later restores part of it, with `overwrite` over later edits and deletes. */
  async restoreExport(run, device, tab) {
    await editable(device)
    const { dice, ledger } = run
    const { backup } = run
    run.backup ??= [...tab.sync.bookmarks().values()].filter(({ source }) => source === 'bookmarks')
    const bookmarks = (backup ?? []).filter(() => dice.happens(0.3))
    const overwrite = dice.happens(0.5)
    run.note(`${bookmarks.map(({ id }) => id).join(' ')}${overwrite ? ' over all' : ''}`)
    const traits = overwrite ? {} : { yields: true as const }
    const begin = (one: PlaintextBookmark) => ledger.repeat(device.id, one.id, whole(one), tab.sync.get(one.id), traits)
    const answers = bookmarks.map((one) => [one.id, begin(one)] as const)
    const restored = tab.sync.restoreExport({ bookmarks }, { overwrite }).then(({ existing }) => {
      for (const [id, answer] of answers) answer(existing.includes(id) ? 'refused' : 'kept')
    })
    follow(device, tab, 'restore', restored, (outcome) => {
      if (outcome === 'refused') for (const [, answer] of answers) answer(outcome)
    })
  },

  /** Sets fields of the bookmark as it is when all earlier edits are done. */
  update(run, device, tab) {
    const { ledger } = run
    const id = anId(run, tab)
    if (id === undefined) return
    const patch = aPatch(run, tab, tab.sync.get(id))
    run.note(`${id} ${Object.keys(patch).join(' ')}`)
    let answer = (_: 'kept' | 'refused') => {}
    const updated = tab.sync.update(id, (current) => {
      answer('refused')
      answer = ledger.begin(device.id, id, patch, current)
      return patch
    })
    follow(device, tab, 'update', updated, (outcome) => answer(outcome))
  },

  /** Adds a new tag or removes one. */
  tag(run, device, tab) {
    const { ledger, dice } = run
    const id = anId(run, tab)
    if (id === undefined) return
    const added = run.unique('tag')
    const isRemoval = dice.happens(0.4)
    run.note(`${id} ${added}`)
    let answer = (_: 'kept' | 'refused') => {}
    const updated = tab.sync.update(id, (current) => {
      const { tags = [] } = current
      const patch = { tags: isRemoval && tags.length > 0 ? tags.slice(1) : [...tags, added] }
      answer('refused')
      answer = ledger.begin(device.id, id, patch, current)
      return patch
    })
    follow(device, tab, 'tag', updated, (outcome) => answer(outcome))
  },

  /** Edits as two forms and a drag would, each based on what was shown before. */
  async together(run, device, tab) {
    await editable(device)
    const { dice, ledger } = run
    const id = anId(run, tab)
    const saw = id && tab.sync.get(id)
    if (!saw) return
    run.note(id)
    const other = dice.pick(device.tabs)
    const { title, description } = newContent(run)
    const titled = { title, ...withNewer({ ...newerOf(saw), two: run.unique('n') }) }
    const described = { description, ...withNewer({ ...newerOf(saw), three: run.unique('n') }) }
    const put = ({ sync }: Tab, patch: object) => {
      follow(device, tab, 'put', sync.put({ ...saw, ...patch }), ledger.begin(device.id, id, patch, saw))
    }
    const isTwice = other !== tab && dice.happens(0.5)
    if (isTwice) put(other, { title: run.unique('t') })
    put(isTwice ? tab : other, described)
    put(tab, titled)
    const moved = tab.sync.move(id, {})
    follow(device, tab, 'move', moved, ledger.begin(device.id, id, { parentId: undefined } as never, saw))
  },

  /** Opens a form, or saves the open one, even over other devices' later edits. */
  async form(run, device, tab) {
    await editable(device)
    const { dice, ledger } = run
    const { form } = tab
    tab.form = undefined
    if (!form) {
      const shown = tab.sync.get(anId(run, tab) ?? '')
      if (shown) tab.form = { shown, since: ledger.length }
      return
    }
    const { shown, since } = form
    // Users do not save a form over their own later edits.
    if (ledger.hasEdited(device.id, shown.id, since)) return
    const { title, description } = newContent(run)
    saveForm(run, device, tab, shown, dice.pick([{ title }, { description }, { title, description }]))
  },

  /** This device deletes or edits a bookmark whose form is open on another device. */
  async underForm(run, device, tab) {
    await editable(device)
    const { dice, ledger, devices } = run
    const forms = devices.flatMap((other) => (other === device ? [] : other.tabs.flatMap(({ form }) => form ?? [])))
    const saw = forms.length > 0 ? tab.sync.get(dice.pick(forms).shown.id) : undefined
    if (!saw) return
    const { id } = saw
    const patch = dice.happens(0.6) ? null : { title: newContent(run).title }
    run.note(`${id} ${patch ? 'edited' : 'deleted'}`)
    const answer = ledger.begin(device.id, id, patch, saw)
    follow(device, tab, 'put', patch ? tab.sync.put({ ...saw, ...patch }) : tab.sync.remove(id), answer)
    if (dice.happens(0.5)) await exchange([device, ...devices])
  },

  /** Two tabs have a form for the same bookmark. One saves it or deletes the bookmark before the other saves. */
  async twoForms(run, device, tab) {
    await editable(device)
    const { dice, ledger } = run
    const other = dice.pick(device.tabs)
    const shown = tab.sync.get(anId(run, tab) ?? '')
    if (!shown || other === tab) return
    if (dice.happens(0.5)) saveForm(run, device, other, shown, { title: run.unique('t') })
    else follow(device, other, 'remove', other.sync.remove(shown.id), ledger.begin(device.id, shown.id, null, shown))
    await settled()
    saveForm(run, device, tab, shown, dice.pick([{ title: run.unique('t') }, { description: run.unique('d') }]))
  },

  async resolve(run, device, tab) {
    await editable(device)
    const { dice, ledger } = run
    const conflicts = tab.sync.conflicts()
    if (conflicts.length === 0) return
    const { id } = dice.pick(conflicts)
    const choice = dice.pick(['mine', 'theirs'] as const)
    run.note(`${id} ${choice}`)
    const own = choice === 'mine' ? conflicts.filter((conflict) => conflict.id === id) : []
    const saw = tab.sync.get(id)
    const answers = own.map((conflict) => ledger.repeat(device.id, id, withMine(conflict, saw), saw))
    follow(device, tab, 'resolve', tab.sync.resolve(id, choice), (outcome) => {
      for (const answer of answers) answer(outcome)
    })
  },
} satisfies Record<string, Happening>

export async function putOne(run: Run, device: Device, tab: Tab, id: string): Promise<void> {
  await editable(device)
  const saw = tab.sync.get(id)
  const patch = aPatch(run, tab, saw)
  run.note(`${id} ${Object.keys(patch).join(' ')}`)
  const base: PlaintextBookmark = saw ?? { id, source: sourceOf(id), title: '' }
  const visited = base.source === 'history' ? withVisit(base, run.world.time) : base
  follow(device, tab, 'put', tab.sync.put({ ...visited, ...patch }), run.ledger.begin(device.id, id, patch, saw))
}

function withVisit({ visits = [], visitCount = 0, ...entry }: PlaintextBookmark, now: number): PlaintextBookmark {
  const visit = new Date(now).toISOString()
  return { ...entry, visits: [...new Set([visit, ...visits])].slice(0, 20), visitCount: visitCount + 1 }
}

function saveForm(
  run: Run,
  device: Device,
  tab: Tab,
  shown: PlaintextBookmark,
  patch: Partial<PlaintextBookmark>,
): void {
  run.note(`${shown.id} ${Object.keys(patch).join(' ')}`)
  const answer = run.ledger.begin(device.id, shown.id, patch, shown)
  follow(device, tab, 'form', tab.sync.put({ ...shown, ...patch }, { seen: shown }), answer)
}

/** Deletes up to `most` records. */
async function removeSome(run: Run, device: Device, tab: Tab, most: number): Promise<void> {
  await editable(device)
  const { dice, ledger } = run
  const shown = [...tab.sync.bookmarks().keys()]
  const from = dice.below(shown.length || 1)
  // All are of one type, because a call deletes records of one type.
  const chosen = shown.slice(from, from + most).filter((id) => sourceOf(id) === sourceOf(shown[from] as string))
  run.note(chosen.join(' '))
  const answers = chosen.map((id) => ledger.begin(device.id, id, null, tab.sync.get(id)))
  follow(device, tab, 'remove', tab.sync.remove(chosen), (outcome) => {
    for (const answer of answers) answer(outcome)
  })
}

/** The patch that restores `mine`, including fields that did not exist; null if `mine` is a delete. */
function withMine({ mine, fields }: SyncEvents['conflict'], saw: PlaintextBookmark | undefined) {
  if (!mine) return null
  return saw && fields.length > 0 ? whole(mine, fields) : whole(mine)
}

/** A patch of these fields. A field that does not exist is removed. */
function whole(
  bookmark: PlaintextBookmark,
  names: readonly string[] = ['title', 'url', 'description', 'parentId', 'tags', 'newer'],
): Partial<PlaintextBookmark> {
  return Object.fromEntries(names.map((name) => [name, bookmark[name as keyof PlaintextBookmark]]))
}

/** Waits for all earlier work: `put` takes whole bookmarks, so calls in two tabs at once would be based on one version. */
export async function editable({ open, tabs }: Device): Promise<void> {
  if (open.size > 0 || tabs.length > 1) await settled()
}

/** @param beside a record of the same type as the result */
function anId({ dice }: Run, { sync }: Tab, beside?: string): string | undefined {
  const all = [...sync.bookmarks().keys()]
  const shown = beside === undefined ? all : all.filter((id) => sourceOf(id) === sourceOf(beside))
  return shown.length > 0 ? dice.pick(shown) : undefined
}

function aPatch(run: Run, tab: Tab, saw: PlaintextBookmark | undefined): Partial<PlaintextBookmark> {
  const { dice } = run
  if (!saw) return newContent(run)
  if (dice.happens(0.2)) return { parentId: anId(run, tab, saw.id) ?? 'a' }
  const { title, url, description } = newContent(run)
  if (dice.happens(0.15)) return withNewer({ ...newerOf(saw), [dice.pick(['two', 'three'])]: run.unique('n') })
  return dice.pick([{ title }, { title }, { description }, { title, description }, ...(url ? [{ url }] : [])])
}

/** Content that occurs nowhere else. A third of it has no URL, which makes a folder. */
function newContent(run: Run): { title: string; description: string; url?: string } {
  const newer = withNewer({ one: run.unique('n') }) as object
  const url = run.dice.happens(0.33) ? {} : { url: `https://example.org/${run.unique('u')}` }
  return { title: run.unique('t'), description: run.unique('d'), ...url, ...newer }
}

/** Imports one of two bookmark files, often again and sometimes in two tabs at once: nothing may be added twice. */
function importFile(run: Run, device: Device, tab: Tab): void {
  const { dice } = run
  const name = dice.pick(['file0', 'file1'])
  const tabs = dice.happens(0.5) ? [tab, dice.pick(device.tabs)] : [tab]
  run.note(`${name} in ${tabs.length}`)
  const imports = tabs.map((one) => importIn(run, device, one, read(run, name)))
  const compare = ([first = [], second = []]: string[][]) => {
    // The folder of the first import may have been renamed before the second.
    const isThereTwice = (place: string) => tabs.some(({ sync }) => (places(sync).get(place)?.size ?? 0) > 1)
    const twice = first.filter((place) => second.includes(place) && isThereTwice(place))
    if (twice.length > 0) run.fail(`${device.id} has imported in two tabs`, twice)
  }
  Promise.all(imports).then(compare, () => {})
}

/** Reads a file. Each reading gives its bookmarks different ids. */
function read(run: Run, name: string): PlaintextBookmark[] {
  const folder = run.unique('f')
  const link = (url: string, parentId?: string): PlaintextBookmark => {
    const place = parentId === undefined ? {} : { parentId }
    return { id: run.unique('l'), source: 'bookmarks', title: url, url: `https://${name}.example/${url}`, ...place }
  }
  const inside = ['one', 'two'].map((url) => link(url, folder))
  return [{ id: folder, source: 'bookmarks', title: name }, ...inside, link('three'), link('four')]
}

/** Returns the places of the added bookmarks. */
async function importIn(run: Run, device: Device, tab: Tab, list: PlaintextBookmark[]): Promise<string[]> {
  const { ledger, fail } = run
  const before = places(tab.sync)
  const answers = new Map(
    // The import uses existing folders, so the ledger does not expect the folders of the list.
    list.map(({ parentId: _, ...one }) => [one.id, ledger.begin(device.id, one.id, one, undefined, { yields: true })]),
  )
  const imported = tab.sync.importBookmarks(list)
  const accounted = imported.then(({ existing }) => {
    for (const [id, answer] of answers) answer(existing.includes(id) ? 'refused' : 'kept')
  })
  follow(device, tab, 'import', accounted, (outcome) => {
    if (outcome === 'refused') for (const answer of answers.values()) answer(outcome)
  })
  const { existing } = await imported
  const after = places(tab.sync)
  const [folder] = list
  const added = list.filter(({ id, url }) => url !== undefined && !existing.includes(id))
  const target = ({ parentId, url }: PlaintextBookmark) => placeOf(parentId ? [folder?.title ?? ''] : [], url)
  const isThere = (place: string) => [...(before.get(place) ?? [])].some((id) => after.get(place)?.has(id))
  const twice = added.map(target).filter(isThere)
  if (twice.length > 0) fail.call(run, `${device.id} has imported what was there`, twice)
  return added.map(target)
}

/** The ids of links and folders, by the titles of the folders above and the address. */
function places(sync: Sync): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const visit = (nodes: readonly TreeNode[], path: readonly string[]) => {
    for (const { bookmark, children } of nodes) {
      const place = placeOf(path, bookmark.url)
      found.set(place, (found.get(place) ?? new Set()).add(bookmark.id))
      visit(children, [...path, bookmark.title])
    }
  }
  visit(sync.tree(), [])
  return found
}

function placeOf(path: readonly string[], url: string | undefined): string {
  return [...path, url].join(' / ')
}

/** The user approves the deletes that they are shown. */
export function approveShown(sync: Sync): Promise<void> {
  return sync.approveDeletions(sync.status().heldDeletions?.count ?? 0)
}

/** Other devices delete many bookmarks and the user is asked. More are deleted before the user approves those shown. */
export async function approveLate(run: Run, device: Device, tab: Tab): Promise<void> {
  await editable(device)
  if (heldIn(tab).length === 0) {
    edits.importMany(run, device, tab)
    await exchange([device, ...run.devices])
    await deleteElsewhere(run, device, 20)
  }
  const shown = heldIn(tab)
  if (shown.length === 0) return
  await deleteElsewhere(run, device, 2)
  const held = heldIn(tab)
  const later = held.filter((id) => !shown.includes(id))
  run.note(`${shown.length}, later ${later.length}`)
  // Unless all of those shown are still held for approval, their number does not identify them.
  const isByNumber = run.dice.happens(0.5) && shown.every((id) => held.includes(id))
  const approved = tab.sync.approveDeletions(isByNumber ? shown.length : shown).then(() => {
    const gone = later.filter((id) => !tab.sync.get(id))
    if (gone.length > 0) run.fail(`${device.id} has deleted what was not shown`, gone)
  })
  device.call('approve', tab, approved)
}

/** Each of the other devices deletes up to `most`, and this one receives the deletes. */
async function deleteElsewhere(run: Run, device: Device, most: number): Promise<void> {
  const others = run.devices.filter((other) => other !== device)
  for (const other of others) if (other.tab) await removeSome(run, other, other.tab, most)
  await exchange([...others, device])
}

/** Each device pulls and pushes in turn, on a good network. */
export async function exchange(devices: readonly Device[]): Promise<void> {
  for (const device of devices) {
    const { line, tab } = device
    if (!tab) continue
    const { weather } = line
    line.weather = 'good'
    device.call('syncNow', tab, tab.sync.syncNow())
    await settled()
    line.weather = weather
  }
}

function heldIn({ sync }: Tab): string[] {
  return sync.heldDeletions().map(({ id }) => id)
}

/** Tracks an edit until the call returns, and records the outcome in the ledger. */
function follow(
  device: Device,
  tab: Tab,
  what: string,
  edit: Promise<unknown>,
  answer: (outcome: 'kept' | 'refused') => void,
): void {
  edit.then(
    () => answer('kept'),
    () => answer('refused'),
  )
  device.call(what, tab, edit)
}
