import type { CDPSession, Locator, Page } from 'playwright-core'
import { isDeep } from '../../support/depth.ts'
import { show } from '../fixture.ts'
import { inPage } from './held.ts'

/** A control by its accessible role and name. Controls whose names differ only in numbers are of one kind. */
interface Control {
  role: string
  name: string
  /** The toolbar that contains the control. */
  within: string
}

/** A place in the page: a view, and the controls to press there in turn. */
interface Place {
  view: string
  steps: readonly Control[]
}

/** How many bookmarks a press may delete, restore, move and erase. */
type Effect = Partial<Record<(typeof kindsOfEffect)[number], number>>
const kindsOfEffect = ['gone', 'back', 'moved', 'erased'] as const

const roles = new Set([
  ...['button', 'link', 'checkbox', 'menuitem', 'menuitemradio', 'option', 'switch', 'radio', 'tab'],
  ...['combobox', 'textbox', 'searchbox', 'DisclosureTriangle'],
])
/** Controls not to press: they end the session, leave the page, open a window, or undo what the test needs. */
const notPressed =
  /^(Sign out.*|Go back to.*|Lock|Sign in.*|Reload.*|Automatic|Deutsch|English|Help|Choose.*file.*|Encrypted Bookmark Sync|Try a second device.*|Close this device|Open all.*|Show browsing history.*)$/

const kindOf = ({ role, name, within }: Control) => `${within} ${role} ${name}`.replaceAll(/\d+/g, '#')
const keyOf = (control: Control, view: string) => (isDeep ? `${view} ${kindOf(control)}` : kindOf(control))

/** Presses one control of each kind in the places that are at most three steps away from a view. */
export class Sweep {
  readonly faults: string[] = []
  readonly seen = new Set<string>()
  #first: Record<string, string> | undefined
  #at: [x: number, y: number] = [0, 0]
  readonly #page: Page
  readonly #tree: CDPSession
  readonly #effects: readonly (readonly [RegExp, Effect])[]

  constructor(page: Page, tree: CDPSession, effects: readonly (readonly [RegExp, Effect])[]) {
    this.#page = page
    this.#tree = tree
    this.#effects = effects
  }

  async view(view: string): Promise<void> {
    const places: Place[] = [{ view, steps: [] }]
    for (const place of places) {
      await this.#open(place)
      let before = await inPage(this.#page, 'look')
      for (const control of this.#fresh(await this.#controls(), view)) {
        if ((await inPage(this.#page, 'look')) !== before) {
          await this.#open(place)
          before = await inPage(this.#page, 'look')
        }
        for (const found of await this.#try(place, control)) places.push(found)
      }
    }
  }

  /** One control of each untried kind: the second if there are several, so that another row moves into its place. */
  #fresh(controls: readonly Control[], view: string): Control[] {
    const kinds = Object.values(Object.groupBy(controls, kindOf)) as Control[][]
    return kinds.flatMap((kind) => {
      const one = kind[1] ?? (kind[0] as Control)
      if (!this.#isNew(one, view)) return []
      this.seen.add(keyOf(one, view))
      return [one]
    })
  }

  /** Without --deep, only controls with an effect are tried, and those that lead to them. */
  #isNew(control: Control, view: string): boolean {
    const isTried = isDeep || this.#effectOf(control.name) || /^(Select|Empty) /.test(control.name)
    return Boolean(isTried) && !notPressed.test(control.name) && !this.seen.has(keyOf(control, view))
  }

  async #controls(): Promise<Control[]> {
    const { nodes } = await this.#tree.send('Accessibility.getFullAXTree')
    const byId = new Map(nodes.map((node) => [node.nodeId, node]))
    return nodes.flatMap(({ ignored, role, name, parentId = '' }) => {
      let around = byId.get(parentId)
      while (around && around.role?.value !== 'toolbar') around = byId.get(around.parentId ?? '')
      const within = String(around?.name?.value ?? '')
      const control = { role: String(role?.value), name: String(name?.value ?? ''), within }
      return ignored || !roles.has(control.role) ? [] : [control]
    })
  }

  #find({ role, name }: Control): Locator {
    if (role === 'DisclosureTriangle') return this.#page.locator('summary', { hasText: name }).first()
    return this.#page.getByRole(role as 'button', { name, exact: true }).first()
  }

  async #open({ view, steps }: Place): Promise<void> {
    for (let times = 0; times < 3; times++) await this.#page.keyboard.press('Escape')
    await show(this.#page, 'nowhere')
    await this.#page.getByText('There is nothing at this address').first().waitFor()
    await this.undoAll()
    await inPage(this.#page, 'forget')
    await show(this.#page, view)
    await this.#page.locator('main h1:not(.unseen)').first().waitFor()
    await this.#page.locator('main .waiting').waitFor({ state: 'detached' })
    for (const step of steps) {
      await this.#aim(step)
      await this.#press(1)
      await inPage(this.#page, 'under')
    }
  }

  /** Undoes deletes and moves for the next control, as far as possible. */
  async undoAll(): Promise<void> {
    for (let times = 0; times < 3; times++) {
      const now = await inPage(this.#page, 'stored')
      this.#first ??= now
      if (effectOf(this.#first, now).every((count, index) => count === 0 || kindsOfEffect[index] === 'erased')) return
      await this.#page.keyboard.press('Control+z')
      await inPage(this.#page, 'frames', 6)
    }
    this.#first = await inPage(this.#page, 'stored')
  }

  /** Puts the mouse over the control, and waits like a person. */
  async #aim(control: Control): Promise<boolean> {
    const found = this.#find(control)
    if (!(await found.isVisible())) return false
    // A reloaded list may have removed the control.
    const box = await found
      .scrollIntoViewIfNeeded()
      .then(() => found.boundingBox({ timeout: 5000 }))
      .catch(() => null)
    if (!box) return false
    const { x, y, width, height } = box
    this.#at = [x + width / 2, y + height / 2]
    await this.#page.mouse.move(...this.#at)
    await inPage(this.#page, 'pass')
    await inPage(this.#page, 'aim', ...this.#at)
    return true
  }

  async #press(clickCount: number): Promise<void> {
    await this.#page.mouse.down({ clickCount })
    await this.#page.mouse.up({ clickCount })
  }

  /** Tries a control. Returns the places to which it leads. */
  async #try(place: Place, control: Control): Promise<Place[]> {
    if (!(await this.#aim(control))) return []
    const before = await inPage(this.#page, 'stored')
    await this.#press(1)
    const under = await inPage(this.#page, 'under')
    // After a delete, the next row takes the place of the deleted one, which is fine.
    const [is, was] = [under.name, control.name].map((name) => name.replace(/(?<=^Delete ).*/, ''))
    if (under.isDestructive && is !== was) this.#fault(place, control, `“${under.name}” takes its place`)
    const isNew =
      under.isChanged && place.steps.length < 3 && (await this.#controls()).some((one) => this.#isNew(one, place.view))
    const focused = await inPage(this.#page, 'focused')
    await this.#press(1)
    await this.#check(place, control, 'two presses', before)
    if (isDeep) {
      // Some double clicks are slower than the time during which new controls cannot be pressed.
      await this.#again(place, control, 'a double click', async () => {
        await this.#press(1)
        await inPage(this.#page, 'under')
        await inPage(this.#page, 'pass')
        await this.#press(2)
      })
      await this.#again(place, control, 'a double tap', async () => {
        await this.#tap()
        await inPage(this.#page, 'under')
        await this.#tap()
      })
    }
    if (this.#effectOf(focused) || this.#effectOf(control.name) || isDeep) {
      await this.#again(place, control, 'a held Enter', async () => {
        await this.#find(control).focus()
        await this.#hold('Enter')
      })
    }
    return isNew ? [{ view: place.view, steps: [...place.steps, control] }] : []
  }

  #effectOf(name: string): Effect | undefined {
    return this.#effects.find(([effect]) => effect.test(name))?.[1]
  }

  async #tap(): Promise<void> {
    const [x, y] = this.#at
    await this.#tree.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
    await this.#tree.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  }

  async #again(place: Place, control: Control, gesture: string, work: () => Promise<void>): Promise<void> {
    await this.#open(place)
    if (!(await this.#aim(control))) return
    const before = await inPage(this.#page, 'stored')
    await work()
    await this.#check(place, control, gesture, before)
  }

  /** Holds keys that a list knows while the focus is in its second row. */
  async holdKeys(view: string, keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.#open({ view, steps: [] })
      await this.#page.locator('main [data-main]').nth(1).focus()
      const before = await inPage(this.#page, 'stored')
      await this.#hold(key)
      await this.#check({ view, steps: [] }, { role: 'key', name: key, within: '' }, 'held', before)
    }
  }

  async #hold(key: string): Promise<void> {
    const parts = key.split('+')
    const last = parts.pop() as string
    for (const part of parts) await this.#page.keyboard.down(part)
    for (let times = 0; times < 4; times++) {
      await this.#page.keyboard.down(last)
      await inPage(this.#page, 'frames', 6)
    }
    for (const part of [last, ...parts]) await this.#page.keyboard.up(part)
  }

  async #check(place: Place, control: Control, gesture: string, before: Record<string, string>): Promise<void> {
    await inPage(this.#page, 'frames', this.#effectOf(control.name) ? 12 : 3)
    const counts = effectOf(before, await inPage(this.#page, 'stored'))
    const effect = this.#effectOf(control.name) ?? {}
    const isMore = kindsOfEffect.some((kind, index) => (counts[index] ?? 0) > (effect[kind] ?? 0))
    if (isMore)
      this.#fault(place, control, `${gesture}: ${kindsOfEffect.map((kind, index) => `${counts[index]} ${kind}`)}`)
  }

  #fault({ view, steps }: Place, { role, name }: Control, what: string): void {
    this.faults.push(`${[view, ...steps.map(({ name }) => name)].join(' › ')} › ${role} “${name}”: ${what}`)
  }
}

function effectOf(before: Record<string, string>, after: Record<string, string>): number[] {
  const [inTrash, wasInTrash] = [(id: string) => after[id] === 'trash', (id: string) => before[id] === 'trash']
  const ids = Object.keys({ ...before, ...after })
  const isThere = (id: string) => id in after && !inTrash(id)
  const wasThere = (id: string) => id in before && !wasInTrash(id)
  return [
    ids.filter((id) => wasThere(id) && !isThere(id)).length,
    ids.filter((id) => !wasThere(id) && isThere(id)).length,
    ids.filter((id) => wasThere(id) && isThere(id) && before[id] !== after[id]).length,
    ids.filter((id) => wasInTrash(id) && !(id in after)).length,
  ]
}
