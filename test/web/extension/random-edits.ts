import type { BrowserNode } from '../../../src/extension/index.ts'
import type { Dice } from '../../client/chaos/dice.ts'
import type { Marks } from '../../extension/marks.ts'
import { bar, type Installed, other } from './installed.ts'

/** Whoever deletes a large folder at once is asked: that is for the scenarios. */
const mostDeleted = 8

interface Place {
  parentId: string
  index: number
}

declare const chrome: {
  bookmarks: { getSubTree(id: string): Promise<BrowserNode[]>; removeTree(id: string): Promise<void> }
}

/** What a user does to the bookmarks of a Chromium, by chance. */
export class RandomEdits {
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

  /** What the service brings meanwhile may have taken away what is to be changed. */
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
