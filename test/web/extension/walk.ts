import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import type { BrowserNode } from '../../../src/extension/index.ts'
import { Dice } from '../../client/chaos/dice.ts'
import { Marks } from '../../extension/marks.ts'
import { folder, type Service, startService } from '../../support/service.ts'
import { developmentProvider } from '../fixture.ts'
import { bar, Installed, other } from './installed.ts'
import { readSides, type Sides } from './scenario.ts'
import { openAccount, setUp } from './set-up.ts'

/** The walks of one pair of Chromiums, one after the other. */
interface Walks {
  /** Returns what is wrong in the end. @param note is told each operation */
  walk(seed: number, operations: number, note: (text: string) => void): Promise<string[]>
}

/** A busy machine is not a fault: nothing takes as long as this unless it never happens. */
const patienceMs = Number(process.env.PATIENCE ?? 600_000)
/** Both must stay the same for this long: what one of them does then is done. */
const quietMs = 1000

export async function openWalks(t: Test): Promise<Walks> {
  const service = await startService(t, await folder(t), { ...(await developmentProvider()), LOG_LEVEL: 'error' })
  const networks = [await Network.open(t, service), await Network.open(t, service)] as const
  const [one, two] = await Promise.all([Installed.start(t), Installed.start(t)])
  await setUp(one, networks[0].service, 'Ada')
  await setUp(two, networks[1].service, 'Ada')
  const sides: Sides = { one, two, elsewhere: (await openAccount(service, 'Ada')).sync }
  return {
    async walk(seed, operations, note) {
      const dice = new Dice(seed)
      const marks = new Marks(seed)
      const users = [
        new RandomUser('one', one, networks[0], dice, marks, note),
        new RandomUser('two', two, networks[1], dice, marks, note),
      ]
      for (let count = 0; count < operations; count++) await dice.pick(users).operate()
      for (const user of users) await user.recover()
      return end(sides, users, marks)
    },
  }
}

/** Once all are the same, and nothing waits any more. */
async function end(sides: Sides, users: RandomUser[], marks: Marks): Promise<string[]> {
  const giveUpAt = performance.now() + patienceMs
  for (let before: unknown; ; ) {
    const shown = await readSides(sides)
    const waits = (await Promise.all(users.map((user) => user.whatWaits()))).flat()
    const isSame = isDeepStrictEqual(shown[1], shown[0]) && isDeepStrictEqual(shown[2], shown[0])
    if (isSame && waits.length === 0 && isDeepStrictEqual(shown, before)) return marks.faults(nodesOf(shown[0] ?? []))
    if (performance.now() > giveUpAt) return [...waits, ...shown.map((lines) => lines.join('\n'))]
    before = shown
    await sleep(quietMs)
  }
}

/** Of lines with two spaces a level. */
function nodesOf(lines: readonly string[]): { title: string; hasChildren: boolean }[] {
  return lines.map((title, index) => ({ title, hasChildren: indentOf(lines[index + 1]) > indentOf(title) }))
}

function indentOf(line = ''): number {
  return line.length - line.trimStart().length
}

/** A worker has about so many calls to make in a sync. */
const mostCalls = 30
/** Users pause that long at most. */
const mostPauseMs = 1500

/** A user of a Chromium who does whatever comes, while its network goes and comes, and its workers die. */
class RandomUser {
  readonly #name: string
  readonly #browser: Installed
  readonly #network: Network
  readonly #dice: Dice
  readonly #edits: RandomEdits
  readonly #note: (text: string) => void
  /** Its workers die at a call. */
  #isDying = false

  constructor(
    name: string,
    browser: Installed,
    network: Network,
    dice: Dice,
    marks: Marks,
    note: (text: string) => void,
  ) {
    this.#name = name
    this.#browser = browser
    this.#network = network
    this.#dice = dice
    this.#note = (text) => note(`${name} ${text}`)
    this.#edits = new RandomEdits(browser, dice, marks, this.#note)
  }

  async operate(): Promise<void> {
    if (this.#isDying && (await this.#browser.hasDied())) await this.#bury()
    const kind = this.#dice.draw({ edit: 68, pause: 11, kill: 10, network: 5, decide: 5, close: 1 })
    if (kind === 'edit') await this.#edits.edit(!this.#isDying)
    else if (kind === 'pause') await sleep(this.#dice.below(mostPauseMs))
    else if (kind === 'kill') await this.#kill()
    else if (kind === 'decide') await this.#decide()
    else if (kind === 'close') await this.#close()
    else this.#changeNetwork()
  }

  /** Its network is there again, and a worker that lives on. */
  async recover(): Promise<void> {
    this.#network.find()
    this.#isDying = false
    await this.#browser.live()
    await this.#browser.ask({ ask: 'sync-now' }).catch(() => {})
  }

  /** The differences that keep the two sides from being the same. */
  async whatWaits(): Promise<string[]> {
    await this.#decide()
    const { state } = await this.#browser.ask({ ask: 'state' })
    const { sync, browser, refused = [] } = state ?? {}
    const isDone = sync?.state === 'online' && sync.waiting === 0 && browser?.state === 'in-step'
    return isDone && refused.length === 0 ? [] : [`${this.#name}: ${JSON.stringify(state)}`]
  }

  /** The worker that has died is gone: the browser starts another one for what happens next. */
  async #bury(): Promise<void> {
    this.#note('has lost its worker')
    this.#isDying = false
    await this.#browser.letLive()
  }

  async #kill(): Promise<void> {
    const kind = this.#dice.draw({ now: 1, atCall: 2 })
    const call = 1 + this.#dice.below(mostCalls)
    if (this.#isDying) {
      this.#note('has a worker that lives on')
      await this.#browser.live()
    } else if (kind === 'now') {
      this.#note('has its worker stopped')
      await this.#browser.stopWorker()
    } else {
      this.#note(`has a worker that dies at call ${call}`)
      await this.#browser.dieAt(call)
    }
    this.#isDying = !this.#isDying && kind === 'atCall'
  }

  /** Deletes that need a yes have it. */
  async #decide(): Promise<void> {
    if (this.#isDying) return
    const { held = { browser: [], devices: [] } } = await this.#browser.ask({ ask: 'held' })
    for (const side of ['browser', 'devices'] as const) {
      const ids = held[side].map(({ id }) => id)
      if (ids.length === 0) continue
      this.#note(`approves ${ids.length} deletes of ${side}`)
      await this.#browser.ask({ ask: 'decide', side, deletes: true, ids })
    }
  }

  async #close(): Promise<void> {
    this.#note('closes the browser, and opens it again')
    this.#isDying = false
    await this.#browser.closeAndOpen()
  }

  #changeNetwork(): void {
    if (this.#network.isLost) this.#network.find()
    else this.#network.lose()
    this.#note(this.#network.isLost ? 'is offline' : 'is online')
  }
}

/** Whoever deletes a large folder at once is asked: that is for the scenarios. */
const mostDeleted = 8

interface Place {
  parentId: string
  index: number
}

declare const chrome: {
  bookmarks: { getSubTree(id: string): Promise<BrowserNode[]>; removeTree(id: string): Promise<void> }
}

/** A user who changes the bookmarks of a Chromium, by chance. */
class RandomEdits {
  readonly #browser: Installed
  readonly #dice: Dice
  readonly #marks: Marks
  readonly #note: (text: string) => void

  constructor(browser: Installed, dice: Dice, marks: Marks, note: (text: string) => void) {
    this.#browser = browser
    this.#dice = dice
    this.#marks = marks
    this.#note = note
  }

  /** The service may meanwhile have taken away the bookmark that is to be changed. */
  /** @param isHeard whether the worker that hears of it lives on */
  async edit(isHeard: boolean): Promise<void> {
    const dice = this.#dice
    const nodes = nodesIn(await this.#browser.roots()).filter(({ title }) => this.#marks.in(title))
    const folders = nodes.filter(({ url }) => url === undefined)
    const [one, into] = [
      nodes.length > 0 ? dice.pick(nodes) : undefined,
      dice.pick([{ id: bar }, { id: other }, ...folders]),
    ]
    const [share, kind] = [dice.roll(), dice.roll()]
    try {
      const [{ children = [], title = '' } = {}] = await this.#browser.call('getSubTree', into.id)
      const place = { parentId: into.id, index: Math.floor(share * (children.length + 1)) }
      // A folder into which something was put stays.
      this.#marks.touch([title])
      if (!one || kind < 0.3 || nodes.length < 6) await this.#create(place)
      else if (kind < 0.35 && one.url !== undefined) await this.#double(one, place)
      else if (kind < 0.55) await this.#change(one, isHeard)
      else if (kind < 0.8) await this.#move(one, place)
      else await this.#remove(one)
    } catch (error) {
      this.#note(`cannot: ${(error as Error).message.split('\n')[0]}`)
    }
  }

  async #create(place: Place): Promise<void> {
    const mark = this.#marks.next()
    const isFolder = this.#dice.happens(0.25)
    this.#note(`creates ${isFolder ? 'folder ' : ''}${mark} in ${place.parentId} at ${place.index}`)
    const node = isFolder ? { title: `folder ${mark}` } : { title: `link ${mark}`, url: `https://example.org/${mark}` }
    await this.#browser.call('create', { ...place, ...node })
    this.#marks.make(mark)
  }

  async #double({ title, url = '' }: BrowserNode, place: Place): Promise<void> {
    this.#note(`doubles ${title} in ${place.parentId} at ${place.index}`)
    this.#marks.make(this.#marks.in(title) ?? '')
    await this.#browser.call('create', { ...place, title, url })
  }

  async #change({ id, title, url }: BrowserNode, isHeard: boolean): Promise<void> {
    const version = this.#dice.roll().toString(36).slice(2, 6)
    const isAddress = this.#dice.happens(0.3) && url !== undefined
    this.#marks.touch([title])
    this.#note(`changes ${isAddress ? 'the address' : 'the title'} of ${id} ${title}: ${version}`)
    const mark = this.#marks.in(title) ?? ''
    // Nobody knows any more that what a worker was creating, which died, was changed: it may come a second time.
    if (!isHeard) this.#marks.make(mark)
    if (isAddress) await this.#browser.call('update', id, { title, url: `${url.split('#')[0]}#${version}` })
    else
      await this.#browser.call('update', id, { title: `${url === undefined ? 'folder' : 'link'} ${mark} ${version}` })
  }

  async #move({ id, title, children = [] }: BrowserNode, place: Place): Promise<void> {
    this.#note(`moves ${id} ${title} to ${place.parentId} at ${place.index}`)
    this.#marks.touch([title, ...nodesIn(children).map(({ title }) => title)])
    await this.#browser.call('move', id, place)
  }

  async #remove({ id, title, children = [] }: BrowserNode): Promise<void> {
    if (nodesIn(children).length >= mostDeleted) return
    // Read in the same breath: something may be added to it just now.
    const gone = await this.#browser.page.evaluate(async (id) => {
      const read = chrome.bookmarks.getSubTree(id)
      await chrome.bookmarks.removeTree(id)
      return read
    }, id)
    const titles = nodesIn(gone).map(({ title }) => title)
    this.#note(`removes ${id} ${title}: ${titles.join(', ')}`)
    this.#marks.delete(titles)
  }
}

function nodesIn(nodes: readonly BrowserNode[]): BrowserNode[] {
  return nodes.flatMap((node) => [node, ...nodesIn(node.children ?? [])])
}

/** One browser's way to the service, which can be lost and found again. */
class Network {
  /** As this browser reaches it. */
  readonly service: Service
  isLost = false
  readonly #port: number
  readonly #sockets = new Set<Socket>()

  private constructor(service: Service, ownPort: number) {
    this.#port = Number(new URL(service.origin).port)
    this.service = { ...service, origin: `http://127.0.0.1:${ownPort}` }
  }

  static async open(t: Test, service: Service): Promise<Network> {
    const server = createServer((near) => network.#pass(near)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const network = new Network(service, (server.address() as AddressInfo).port)
    t.teardown(() => {
      network.lose()
      server.close()
    })
    return network
  }

  lose(): void {
    this.isLost = true
    for (const socket of this.#sockets) socket.destroy()
  }

  find(): void {
    this.isLost = false
  }

  #pass(near: Socket): void {
    if (this.isLost) return void near.destroy()
    const far = connect(this.#port, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }
}
