import { randomUUID } from 'node:crypto'
import { createClient, createSync, deriveKeys, memoryStore, type Store, type Sync } from '../../src/client/index.ts'
import { type Clock, systemClock } from '../../src/client/timing/clock.ts'
import type { Link } from '../../src/extension/groups/links.ts'
import { createTabGroups, type SavedGroup, type TabGroups } from '../../src/extension/groups/tab-groups.ts'
import { watchTabs } from '../../src/extension/groups/tabs-api.ts'
import { startService, type TestConnection } from '../../src/service/testing.ts'
import { masterKey } from './device.ts'
import { TabsModel } from './tabs-model.ts'

const service = await startService()

/** A browser with the extension and tab groups turned on. */
export class GroupsDevice {
  readonly model: TabsModel
  readonly connection: TestConnection
  readonly #id: string
  readonly #store: Store = memoryStore()
  readonly stored: Record<string, unknown> = {}
  #session: Record<string, unknown> = {}
  sync!: Sync
  groups!: TabGroups
  clock: Clock = systemClock
  #isDead = { value: false }
  #callsLeft = Number.POSITIVE_INFINITY
  #died = Promise.withResolvers<void>()

  constructor(id: string, model: TabsModel, connection: TestConnection) {
    this.#id = id
    this.model = model
    this.connection = connection
    this.open()
  }

  /** Starts a new worker on the data that the last one stored. */
  open(): void {
    this.#isDead.value = true
    const isDead = { value: false }
    this.#isDead = isDead
    this.#callsLeft = Number.POSITIVE_INFINITY
    const died = Promise.withResolvers<void>()
    this.#died = died
    const gate = async <T>(call: () => T): Promise<T> => {
      if (!isDead.value && --this.#callsLeft < 0) {
        isDead.value = true
        died.resolve()
      }
      // A dead worker gets no answer.
      return isDead.value ? new Promise(() => {}) : call()
    }
    this.sync = createSync({
      ...this.connection,
      client: createClient({ ...this.connection, deviceId: this.#id }),
      ...{ keys: deriveKeys(masterKey), deviceId: this.#id, store: this.#store, types: ['bookmark', 'group'] },
    })
    const api = this.model.api(gate)
    this.groups = createTabGroups({
      ...api,
      sync: this.sync,
      watch: watchTabs(api.tabs, api.tabGroups),
      storage: {
        get: () => gate(() => structuredClone(this.stored)),
        set: (values) => gate(() => void Object.assign(this.stored, structuredClone(values))),
      },
      session: { get: async () => this.#session, set: async (values) => void Object.assign(this.#session, values) },
      makesUnloaded: this.model.flavour === 'firefox',
      clock: this.clock,
    })
  }

  /** The browser is closed and opened again, by default with the same windows. */
  async restart(start: () => void = this.model.save()): Promise<void> {
    start()
    this.#session = {}
    this.open()
    await this.sync.syncNow()
  }

  /** Runs the work, during which the worker dies after this number of calls of the browser. Then another one is started. */
  async dieAt(callsLeft: number, work: (groups: TabGroups) => Promise<unknown>): Promise<void> {
    this.#callsLeft = callsLeft
    await Promise.race([work(this.groups), this.#died.promise])
    this.open()
  }

  /** Sends the person's changes and receives those of other devices. */
  async step(): Promise<void> {
    await this.sync.syncNow()
    await this.groups.compareNow()
    await this.sync.syncNow()
  }

  /** Saves the group under a name, as from the popup while one of its tabs is active. */
  async save(groupId: number, title: string): Promise<void> {
    const [tab] = this.model.tabsOf(groupId)
    this.model.look(tab as number)
    await this.groups.save('group', title)
    await this.step()
  }

  saved(title: string): SavedGroup {
    const found = this.groups.list().find((group) => group.title === title)
    if (!found) throw new Error(`${title} is not among ${this.groups.list().map((group) => group.title)}`)
    return found
  }

  /** True if this group is linked to a saved one, according to the stored links. */
  follows(groupId: number | undefined): boolean {
    const links = Object.values((this.stored.groups ?? {}) as Record<string, Link>)
    return links.some(({ kind, place }) => kind === 'group' && place === groupId)
  }

  /** The saved groups as text: `title color: url url`. */
  get text(): string[] {
    return this.groups
      .list()
      .map(({ title, color, tabs }) => `${title} ${color}: ${tabs.map(({ url }) => url).join(' ')}`)
  }
}

/** Browsers of one new user. */
export async function openBrowsers(...models: TabsModel[]): Promise<GroupsDevice[]> {
  const user = randomUUID()
  const devices: GroupsDevice[] = []
  for (const [index, model] of models.entries()) {
    devices.push(new GroupsDevice(`device-${index}`, model, await service.connect(user)))
  }
  for (const device of devices) await device.sync.syncNow()
  return devices
}

/** Two Chromes of one user. */
export async function twoBrowsers(): Promise<[GroupsDevice, GroupsDevice]> {
  return (await openBrowsers(new TabsModel(), new TabsModel())) as [GroupsDevice, GroupsDevice]
}
