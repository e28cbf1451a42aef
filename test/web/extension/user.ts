import type { BrowserNode } from '../../../src/extension/index.ts'
import { until } from '../../support/until.ts'
import { bar, type Installed } from './installed.ts'

interface Place {
  /** A folder of the scenario, by its title, or a root of the browser, by its id. */
  into?: string
  index?: number
}

declare const chrome: { bookmarks: { create(node: object): Promise<BrowserNode> } }

/** The address of a bookmark, as far as a test does not care. */
export const link = (title: string) => `https://example.org/${encodeURIComponent(title)}`

/** The user of one browser, who works in a folder of one scenario. What is in it goes by its titles. */
export class User {
  readonly browser: Installed
  readonly #folder: string

  constructor(browser: Installed, folder: string) {
    this.browser = browser
    this.#folder = folder
  }

  async begin(): Promise<void> {
    await this.browser.call('create', { parentId: bar, title: this.#folder })
  }

  async add(title: string, place: Place = {}, url = link(title)): Promise<void> {
    await this.browser.call('create', { ...(await this.#placeOf(place)), title, url })
  }

  async addFolder(title: string, place: Place = {}): Promise<void> {
    await this.browser.call('create', { ...(await this.#placeOf(place)), title })
  }

  /** As an import of the browser does: one after the other, without a pause. */
  async addMany(titles: string[], place: Place = {}): Promise<void> {
    const { parentId } = await this.#placeOf(place)
    const nodes = titles.map((title) => ({ parentId, title, url: link(title) }))
    await this.browser.page.evaluate(async (nodes) => {
      for (const node of nodes) await chrome.bookmarks.create(node)
    }, nodes)
  }

  /** As an import does: each folder, and then what is in it. */
  async addFolders(folders: { folder: string; titles: string[] }[], place: Place = {}): Promise<void> {
    const { parentId } = await this.#placeOf(place)
    const trees = folders.map(({ folder, titles }) => ({
      title: folder,
      nodes: titles.map((title) => ({ title, url: link(title) })),
    }))
    await this.browser.page.evaluate(
      async ([parentId, trees]) => {
        for (const { title, nodes } of trees) {
          const { id } = await chrome.bookmarks.create({ parentId, title })
          for (const node of nodes) await chrome.bookmarks.create({ ...node, parentId: id })
        }
      },
      [parentId, trees] as const,
    )
  }

  async retitle(title: string, to: string): Promise<void> {
    await this.browser.call('update', (await this.find(title)).id, { title: to })
  }

  async readdress(title: string, url: string): Promise<void> {
    await this.browser.call('update', (await this.find(title)).id, { title, url })
  }

  /** `index` counts with the bookmark in its old place. Default: the end. */
  async move(title: string, place: Place): Promise<void> {
    const { id } = await this.find(title)
    const { parentId, index } = await this.#placeOf(place)
    const [folder] = await this.browser.call('getSubTree', parentId)
    await this.browser.call('move', id, { parentId, index: index ?? folder?.children?.length ?? 0 })
  }

  /** Takes one of these out of a root of the browser, where another one put it, once it is there. */
  async takeFrom(root: string, titles: string[], place: Place = {}): Promise<void> {
    let found: BrowserNode | undefined
    await until(async () => {
      const [{ children = [] } = {}] = await this.browser.call('getSubTree', root)
      found = children.find(({ title }) => titles.includes(title))
      return found !== undefined
    })
    const { parentId, index = 0 } = await this.#placeOf(place)
    await this.browser.call('move', found?.id ?? '', { parentId, index })
  }

  async remove(title: string): Promise<void> {
    await this.browser.call('removeTree', (await this.find(title)).id)
  }

  /** The first with this title, or the scenario's folder itself. */
  async find(title: string): Promise<BrowserNode> {
    const pending = (await this.browser.roots()).flatMap(({ children = [] }) => children)
    const folder = pending.find((node) => node.title === this.#folder)
    if (title === this.#folder && folder) return folder
    const inside = [...(folder?.children ?? [])]
    for (const node of inside) {
      if (node.title === title) return node
      inside.push(...(node.children ?? []))
    }
    throw new Error(`There is no ${title} in ${this.#folder}`)
  }

  /** The title of the folder around it. */
  async folderOf(title: string): Promise<string> {
    const { parentId = '' } = await this.find(title)
    return (await this.browser.call('getSubTree', parentId))[0]?.title ?? ''
  }

  /** The titles in the scenario's folder. */
  async titles(): Promise<string[]> {
    return ((await this.find(this.#folder)).children ?? []).map(({ title }) => title)
  }

  async #placeOf({ into = this.#folder, index }: Place): Promise<{ parentId: string; index?: number }> {
    const parentId = /^\d$/.test(into) ? into : (await this.find(into)).id
    return { parentId, ...(index !== undefined && { index }) }
  }
}
