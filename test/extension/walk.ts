import { Dice } from '../client/chaos/dice.ts'
import { chromeAndFirefox, copyOf, type Device, differences, textOf } from './device.ts'
import { Marks } from './marks.ts'

/**
 * Two browsers, Chrome and Firefox, whose users edit at once, with and without a network. The browsers are closed and opened
 * again, they crash, and their workers die at any of their calls. Returns the faults that are found at the end.
 */
export async function walk(
  seed: number,
  operations: number,
  note: (text: string) => void = () => {},
): Promise<string[]> {
  const walk = new Walk(await chromeAndFirefox(), seed, note)
  for (let count = 0; count < operations; count++) await walk.operate()
  return walk.end()
}

/** The longest pause between two operations. */
const mostWaitMs = 1500
/** The browser saves its bookmarks as often as Chrome does. */
const saveEveryMs = 2500

type Node = Device['model']['ordinary'][number]

/** The marks of bookmarks that a user has edited. */
interface Edited {
  changed: Set<string>
  removed: Set<string>
  cut: Set<string>
  /** The marks that the browser lost in the last crash, some of which the service still has. */
  lost: Set<string>
}

class Walk {
  readonly #dice: Dice
  readonly #note: (text: string) => void
  readonly #devices: [Device, Device]
  readonly #marks: Marks
  readonly #offline = new Set<Device>()
  /** Browsers in which the extension is turned off. */
  readonly #disabled = new Set<Device>()
  /** The users' changes and removals since the last comparison of their browser. */
  readonly #edited = new Map<Device, Edited>()
  /**
   * Marks of nodes that the extension made and Undo removed from the browser. The user is asked, and wants them back.
   */
  readonly #undone = new Set<string>()
  /** By browser, the titles or marks of all bookmarks that its user deleted. */
  readonly #removed = new Map<Device, Set<string>>()
  /** Pastes what was cut. */
  readonly #cuts = new Map<Device, (folder: string) => void>()
  /** A function that crashes the browser, back to the state that it last saved, and the time of that state (Unix ms). */
  readonly #saved = new Map<Device, { at: number; crash: () => void }>()

  constructor(devices: [Device, Device], seed: number, note: (text: string) => void) {
    this.#dice = new Dice(seed)
    this.#marks = new Marks(seed)
    this.#note = note
    this.#devices = devices
  }

  async operate(): Promise<void> {
    const device = this.#dice.pick(this.#devices)
    for (const device of this.#devices) {
      device.model.ahead += this.#dice.below(mostWaitMs)
      this.#save(device)
    }
    const kind = this.#dice.roll()
    const isOff = this.#disabled.has(device)
    if (kind < 0.68) await this.#act(device)
    else if (kind > (isOff ? 0.9 : 0.99)) await this.#toggle(device)
    else if (isOff) return
    else if (kind < 0.9) await this.#compare(device)
    else if (kind < 0.95) await this.#exchange(device)
    else if (kind < 0.96) {
      this.#note(`${device.model.flavour} is closed, and opened again`)
      await this.#lose(device)
      device.restart()
    } else if (kind < 0.975) await this.#crash(device)
    else if (this.#offline.delete(device)) device.connection.goOnline()
    else {
      this.#offline.add(device)
      device.connection.goOffline()
    }
  }

  /** Turns the extension off or on again. It receives no event meanwhile. */
  async #toggle(device: Device): Promise<void> {
    const isOff = this.#disabled.delete(device)
    if (!isOff) this.#disabled.add(device)
    this.#note(`the extension of ${device.model.flavour} is ${isOff ? 'enabled' : 'disabled'}`)
    await this.#lose(device)
    if (isOff) device.restart()
    else device.life.kill()
  }

  #save(device: Device): void {
    const { model } = device
    const at = model.now()
    const saved = this.#saved.get(device)
    if (!saved || at - saved.at >= saveEveryMs) this.#saved.set(device, { at, crash: model.save() })
  }

  /** Crashes the browser: it loses what it has not saved, including deletes. */
  async #crash(device: Device): Promise<void> {
    const { model, sync } = device
    await this.#lose(device)
    this.#note(`${model.flavour} crashes`)
    const marksIn = () => new Set(model.ordinary.map(({ title }) => this.#marks.in(title) ?? ''))
    const [before, held] = [marksIn(), JSON.stringify(sync.tree())]
    device.crash(this.#saved.get(device)?.crash ?? (() => {}))
    const after = marksIn()
    const gone = [...before].filter((mark) => !after.has(mark))
    this.#excuse(gone.filter((mark) => !held.includes(mark)))
    this.#editedIn(device).lost = new Set(gone)
    this.#marks.touch([...after].filter((mark) => !before.has(mark) && held.includes(mark)))
  }

  /** Accepts both results: the bookmarks may exist at the end, or not. */
  #excuse(marks: string[]): void {
    this.#marks.delete(marks)
    this.#marks.touch(marks)
  }

  /** The browser starts the worker for the user's action. */
  async #act(device: Device): Promise<void> {
    if (this.#disabled.has(device)) return this.#edit(device)
    const wasDead = device.life.isDead
    if (wasDead) device.open()
    this.#edit(device)
    if (wasDead) await this.#compare(device)
  }

  /** Runs a comparison, during which the worker may die. The next action or comparison starts another worker. */
  async #compare(device: Device): Promise<void> {
    if (device.life.isDead) device.open()
    const { life, browserSync, sync } = device
    await sync.put([])
    if (this.#dice.happens(0.5)) {
      life.callsLeft = Math.floor(this.#dice.roll() * 12)
      life.finishesLast = this.#dice.happens(0.5)
    }
    await Promise.race([browserSync.compareNow(), life.died])
    life.callsLeft = Number.POSITIVE_INFINITY
    const { state } = browserSync.status()
    this.#note(`${device.model.flavour} compares${life.isDead ? ', and dies' : ''} ${state}`)
    if (life.isDead) return this.#lose(device)
    const removed = this.#removed.get(device) ?? new Set()
    this.#removed.set(device, removed)
    for (const title of this.#editedIn(device).removed) removed.add(title)
    if (state === 'in-step') this.#edited.delete(device)
    await this.#decide(device)
    // Chrome's Undo reverts the extension's changes first.
    if (this.#dice.happens(0.1)) this.#undo(device)
  }

  /**
   * Accounts for a worker that died after it had received the user's events. If a worker before it was just creating a bookmark
   * that the user has changed, no worker knows that these two are the same: the bookmark may be duplicated, but not lost. A
   * bookmark that the user has removed may come back, because the browser may also have lost it.
   */
  async #lose(device: Device): Promise<void> {
    const { changed, removed } = this.#editedIn(device)
    const { rows } = await device.agreed.load()
    for (const { step, content } of rows.values()) {
      const mark = this.#marks.in(content?.title ?? '') ?? ''
      if (step?.kind === 'creating' && changed.delete(mark)) this.#marks.make(mark)
    }
    this.#marks.touch([...removed])
  }

  #editedIn(device: Device): Edited {
    const edited = this.#edited.get(device) ?? {
      changed: new Set(),
      removed: new Set(),
      cut: new Set(),
      lost: new Set(),
    }
    this.#edited.set(device, edited)
    return edited
  }

  async #decide(device: Device): Promise<void> {
    const { browserSync, sync } = device
    const held = browserSync.heldRemovals()
    if (held.some(({ title }) => this.#undone.delete(this.#marks.in(title) ?? ''))) {
      this.#note(`${device.model.flavour} wants ${held.map(({ title }) => title).join(', ')} back`)
      // Bookmarks that were deleted in the minute before come back, too.
      this.#marks.touch([...(this.#removed.get(device) ?? []), ...held.map(({ title }) => title)])
      await browserSync.rejectRemovals()
    } else if (held.length > 0) await browserSync.approveRemovals(held.map(({ id }) => id))
    const deletions = sync.heldDeletions().map(({ id }) => id)
    if (deletions.length > 0) await sync.approveDeletions(deletions)
  }

  async #exchange(device: Device): Promise<void> {
    if (device.life.isDead) await this.#compare(device)
    if (device.life.isDead) return
    this.#note(`${device.model.flavour} exchanges`)
    await device.sync.syncNow().catch(() => {})
  }

  #edit(device: Device): void {
    const { model } = device
    const dice = this.#dice
    const { ordinary } = model
    const roots =
      model.flavour === 'chrome' ? ['1', '2'] : ['menu________', 'toolbar_____', 'unfiled_____', 'mobile______']
    const folders = [...roots, ...ordinary.filter(({ type }) => type === 'folder').map(({ id }) => id)]
    const [one, into] = [ordinary.length > 0 ? dice.pick(ordinary) : undefined, dice.pick(folders)]
    const index = Math.floor(dice.roll() * (model.childrenOf(into).length + 1))
    const kind = dice.roll()
    const place = { parentId: into, index }
    const paste = this.#cuts.get(device)
    // A folder stays if something was put into it.
    this.#marks.touch([model.nodes.get(into)?.title ?? ''])
    if (paste && dice.happens(0.3)) paste(into)
    else if (!one || kind < 0.3 || ordinary.length < 6) this.#create(model, place)
    else if (kind < 0.35 && one.type === 'bookmark') this.#double(model, one, place)
    else if (kind < 0.55) this.#change(device, one)
    else if (kind < 0.74) this.#move(model, one, place)
    else if (kind < 0.8) this.#cut(device, one, into)
    else if (kind < 0.83) this.#undo(device)
    else this.#remove(device, one)
  }

  #undo(device: Device): void {
    const { model } = device
    const marksIn = () => model.ordinary.flatMap(({ title }) => this.#marks.in(title) ?? [])
    const before = marksIn()
    const undone = model.undo()
    if (!undone) return
    const after = marksIn()
    const [gone, back] = [
      before.filter((mark) => !after.includes(mark)),
      after.filter((mark) => !before.includes(mark)),
    ]
    const edited = this.#editedIn(device)
    this.#note(`${model.flavour} undoes ${undone.title}: ${gone.join()} gone, ${back.join()} back`)
    this.#marks.touch([undone.title, ...gone, ...back])
    if (undone.isExtensions) for (const mark of gone) this.#undone.add(mark)
    else this.#marks.delete(gone)
    for (const mark of gone) edited.removed.add(mark)
    for (const mark of [back, this.#marks.in(undone.title) ?? []].flat()) edited.changed.add(mark)
    // If a node had already been restored in another way, there is now one copy more.
    const countIn = (marks: string[], mark: string) => marks.filter((one) => one === mark).length
    for (const mark of new Set(before)) if (countIn(after, mark) > countIn(before, mark)) this.#marks.make(mark)
    // Renamed before the next comparison, a restored node is not recognized, like one that was cut.
    for (const mark of back) edited.cut.add(mark)
  }

  #create(model: Device['model'], place: { parentId: string; index: number }): void {
    const mark = this.#marks.next()
    const kind = this.#dice.roll()
    this.#note(`${model.flavour} creates ${mark} in ${place.parentId} at ${place.index}`)
    if (kind < 0.1 && model.flavour === 'firefox') model.create({ ...place, title: '', type: 'separator' })
    else {
      this.#marks.make(mark)
      if (kind < 0.3) model.create({ ...place, title: `folder ${mark}` })
      else model.create({ ...place, title: `link ${mark}`, url: `https://example.org/${mark}` })
    }
  }

  #double(model: Device['model'], { title, url = '' }: Node, place: { parentId: string; index: number }): void {
    const mark = this.#marks.in(title) ?? ''
    this.#note(`${model.flavour} doubles ${mark}`)
    this.#marks.make(mark)
    model.create({ ...place, title, url })
  }

  #change(device: Device, { id, title, url, type }: Node): void {
    const { model } = device
    const mark = this.#marks.in(title) ?? ''
    const { changed, cut } = this.#editedIn(device)
    if (mark !== '') changed.add(mark)
    // A pasted node with another title is not recognized.
    if (cut.delete(mark)) this.#marks.make(mark)
    this.#note(`${model.flavour} changes ${id} ${mark}`)
    this.#marks.touch([title])
    const version = this.#dice.roll().toString(36).slice(2, 6)
    if (type === 'bookmark' && this.#dice.happens(0.3)) model.update(id, { url: `${url?.split('#')[0]}#${version}` })
    else if (type !== 'separator')
      model.update(id, { title: `${type === 'folder' ? 'folder' : version} ${mark} ${version}` })
  }

  #move(model: Device['model'], { id, title }: Node, place: { parentId: string; index: number }): void {
    const siblings = model.childrenOf(place.parentId)
    const index = Math.min(place.index, siblings.includes(id) ? siblings.length - 1 : siblings.length)
    try {
      model.move(id, { ...place, index })
      this.#note(`${model.flavour} moves ${id} ${title} to ${place.parentId} at ${index}`)
      this.#marks.touch(titlesIn(model, id))
    } catch {
      // A folder cannot be moved into itself.
    }
  }

  /** Cuts a node, and pastes it immediately or later. */
  #cut(device: Device, { id }: Node, into: string): void {
    const { model } = device
    const titles = titlesIn(model, id)
    if (titles.length > 8 || isInside(model, into, id)) return
    const isAtOnce = this.#dice.happens(0.6)
    this.#note(`${model.flavour} cuts ${id}: ${titles.join(', ')}`)
    const marks = titles.flatMap((title) => this.#marks.in(title) ?? [])
    const folders = new Set(
      model.ordinary.map(({ title, type }) => (type === 'folder' ? this.#marks.in(title) : undefined)),
    )
    const edited = this.#editedIn(device)
    for (const mark of marks) {
      // A folder whose contents are new, too, is not recognized.
      if (edited.changed.has(mark) || folders.has(mark)) this.#marks.make(mark)
      edited.changed.add(mark)
      edited.cut.add(mark)
    }
    this.#marks.touch(titles)
    // Until the paste, the node is deleted, and an edit elsewhere may restore it: so there may be two.
    if (!isAtOnce) {
      this.#marks.delete(titles)
      for (const mark of marks) this.#marks.make(mark)
      for (const title of titles) edited.removed.add(title)
      this.#excuse([...edited.lost])
    }
    const copy = copyOf(model, id)
    model.removeTree(id)
    const paste = (folder: string) => {
      this.#note(`${model.flavour} pastes ${titles.join(', ')} into ${folder}`)
      this.#marks.touch([model.nodes.get(folder)?.title ?? ''])
      this.#cuts.delete(device)
      copy(folder)
    }
    if (isAtOnce) paste(into)
    else this.#cuts.set(device, paste)
  }

  #remove(device: Device, { id, title }: Node): void {
    const { model } = device
    const titles = titlesIn(model, id)
    if (titles.length > 8) return
    this.#note(`${model.flavour} removes ${id} ${title}: ${titles.join(', ')}`)
    this.#marks.delete(titles)
    const { removed, lost } = this.#editedIn(device)
    for (const title of titles) removed.add(title)
    // The service may still have contents that the browser lost in the crash.
    this.#excuse([...lost])
    model.removeTree(id)
  }

  async end(): Promise<string[]> {
    for (const device of this.#devices) {
      device.connection.goOnline()
      if (this.#disabled.has(device)) await this.#toggle(device)
      await this.#lose(device)
      device.open()
    }
    let before = ''
    for (let round = 0; round < 10; round++) {
      for (const device of this.#devices) {
        await device.step()
        await this.#decide(device)
      }
      const now = JSON.stringify(this.#devices.map(textOf))
      if (now === before && round > 3) break
      before = now
    }
    return [...differences(this.#devices), ...this.#losses()]
  }

  #losses(): string[] {
    const [device] = this.#devices
    return this.#marks.faults(
      device.model.ordinary.map(({ title, children }) => ({ title, hasChildren: children.length > 0 })),
    )
  }
}

function isInside(model: Device['model'], id: string, folder: string): boolean {
  return id === folder || model.childrenOf(folder).some((child) => isInside(model, id, child))
}

function titlesIn(model: Device['model'], id: string): string[] {
  const title = model.nodes.get(id)?.title ?? ''
  return [title, ...model.childrenOf(id).flatMap((child) => titlesIn(model, child))]
}
