import type { Page } from 'playwright-core'

/** What lies under a point of the page. */
interface Under {
  /** True if another element is there than before, or the control there has moved. */
  isOther: boolean
  name: string
  /** True if the page has changed. */
  isChanged: boolean
  isDestructive: boolean
}

/** Functions that the test calls in the page. */
export interface Held {
  /** Lets the time pass during which new controls cannot be pressed. */
  pass(): Promise<void>
  frames(count: number): Promise<void>
  /** Remembers the element at this point. */
  aim(x: number, y: number): void
  /** The element at that point as soon as it has changed, at the latest after a few frames. */
  under(): Promise<Under>
  /** The place of each bookmark by id, and the deleted ones. */
  stored(): Promise<Record<string, string>>
  /** Forgets how lists were arranged. */
  forget(): void
  /** The focused element. */
  focused(): string
  /** The visible state of the page, as text. */
  look(): string
}

/** An init script. New controls cannot be pressed for a while: until `pass` is called, or as usual if `isReal`. */
export function holdTime(isReal: boolean): void {
  const { setTimeout: later } = window
  const waiting: (() => void)[] = []
  const run = (work: () => void, ms = 0, ...args: []) => {
    if (ms !== 400) return later(work, ms, ...args)
    // 401 instead of 400, so that other init scripts do not recognize this timer.
    return isReal ? later(work, 401) : waiting.push(work)
  }
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  const point = { x: 0, y: 0, control: undefined as Element | undefined, box: '', look: '' }
  const at = () => {
    const control = document
      .elementFromPoint(point.x, point.y)
      ?.closest('a, button, label, input, summary, [role=option]')
    return { control: control ?? undefined, box: JSON.stringify(control?.getBoundingClientRect()) }
  }
  const held: Held = {
    async pass() {
      const moving = document
        .getAnimations()
        .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
      await Promise.all(moving.map(({ finished }) => finished.catch(() => {})))
      await held.frames(2)
      for (const work of waiting.splice(0)) work()
    },
    async frames(count) {
      for (let index = 0; index < count; index++) await frame()
    },
    aim(x, y) {
      Object.assign(point, { x, y, look: held.look() })
      Object.assign(point, at())
    },
    async under() {
      let { control, box } = at()
      for (let index = 0; index < 6 && control === point.control && box === point.box; index++) {
        await frame()
        ;({ control, box } = at())
      }
      const name = control?.ariaLabel ?? control?.textContent ?? ''
      const isDestructive = control?.matches('.danger') === true || /^(Delete|Erase)/.test(name)
      return {
        isOther: control !== point.control || box !== point.box,
        isChanged: held.look() !== point.look,
        name,
        isDestructive,
      }
    },
    async stored() {
      // Read first: a bookmark that is restored meanwhile is then found twice, not nowhere.
      const trash = await (await fetch('/api/v1/trash')).json()
      const stored = new Map<string, string>()
      for (const { name = '' } of await indexedDB.databases()) {
        if (!name.startsWith('encrypted-bookmark-sync-')) continue
        const database = await answer(indexedDB.open(name))
        if (!database.objectStoreNames.contains('rows')) continue
        const packs = await answer(database.transaction('rows').objectStore('rows').getAll())
        database.close()
        for (const row of packs.flat()) {
          const last = row.waiting?.at(-1)
          const bookmark = last ? last.bookmark : row.version?.bookmark
          if (bookmark) stored.set(row.id, `${bookmark.parentId} ${bookmark.position}`)
          else stored.delete(row.id ?? row)
        }
      }
      for (const { id } of trash.bookmarks) if (!stored.has(id)) stored.set(id, 'trash')
      return Object.fromEntries(stored)
    },
    forget() {
      for (const key of Object.keys(localStorage)) if (key.startsWith('look-')) localStorage.removeItem(key)
    },
    focused() {
      const element = document.activeElement
      return `${element?.localName} ${element?.ariaLabel ?? element?.textContent}`
    },
    look() {
      const layers = [...document.querySelectorAll('dialog, :popover-open, .toast')].map(
        ({ textContent }) => textContent,
      )
      const main = document.querySelector<HTMLElement>('main')
      return [location.hash, main?.innerText, document.querySelectorAll('main :checked').length, ...layers].join('\n')
    },
  }
  function answer<T>(request: IDBRequest<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  }
  Object.assign(window, { setTimeout: run, held })
}

declare global {
  var held: Held
}

/** Calls one of these functions in the page. */
export function inPage<K extends keyof Held>(page: Page, name: K, ...args: Parameters<Held[K]>) {
  return page.evaluate(([name, args]) => (held[name] as (...args: unknown[]) => unknown)(...args), [
    name,
    args,
  ] as const) as Promise<Awaited<ReturnType<Held[K]>>>
}
