import type { Selectable } from 'kysely'
import { decryptBookmark, type PlaintextBookmark } from '../../../src/client/index.ts'
import { entityTypes, keyOfChange, rowKey } from '../../../src/client/sync/store/key.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { beginEpoch } from '../../../src/service/db/tables/epoch.ts'
import type { TestApp, TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { settled, turns, World } from '../sync/clock.ts'
import { markOf, VaultKeys } from '../sync/vault-keys.ts'
import { Device } from './device.ts'
import { Dice } from './dice.ts'
import { checkEnd } from './end.ts'
import { events, unmixed, weights } from './events.ts'
import { Ledger } from './ledger.ts'
import { keyed } from './mixed.ts'
import type { PushAnswer, PushBody } from './wire.ts'

type Sealed = Pick<PushBody['changes'][number], 'entity_id' | 'entity_type' | 'encrypted_data' | 'data_hash'>

const hourMs = 3_600_000
let runs = 0

/** Some hours of a person with several devices. */
export class Run {
  readonly dice: Dice
  readonly world: World
  readonly ledger = new Ledger()
  readonly user: TestUser
  readonly vault: VaultKeys
  readonly devices: Device[]
  readonly journal: string[] = []
  readonly failures: string[] = []
  /** True if there are tab groups and history. Every third run has them. */
  readonly isMixed: boolean
  /** The bookmarks of the person's export; undefined before it is created. */
  backup: readonly PlaintextBookmark[] | undefined
  readonly #app: TestApp
  #uniques = 0
  #restore: (() => Promise<string>) | undefined
  /** The service's epoch, which is new after each restore. */
  #epoch: string
  /** Records that a wrong clock stamped before the device had pulled any change. Later edits have even higher stamps. */
  readonly #ahead = new Set<string>()

  constructor(app: TestApp, user: TestUser, name: string, seed: number, epoch: string) {
    this.#app = app
    this.#epoch = epoch
    this.isMixed = seed % 3 === 0
    this.dice = new Dice(seed)
    this.user = user
    this.vault = new VaultKeys({ call: async (...request) => (await app.user(name)).call(...request) })
    this.world = new World((time) => app.setClock(time))
    const { world, ledger, dice, vault } = this
    const parts = {
      app,
      name,
      userId: user.userId,
      vault,
      world,
      ledger,
      dice: new Dice(~seed),
      onSend: ({ changes }: PushBody) => {
        for (const change of changes) this.#checkStamp(change)
        for (const change of changes) if (!change.if_unseen) this.ledger.overwrite(keyOfChange(change))
      },
      onPush: ({ changes }: PushBody, { conflicts }: PushAnswer, by: Device) => {
        const why = new Map(conflicts.map(({ event_id, reason }) => [event_id, reason]))
        for (const change of changes) if (isKept(why.get(change.id))) this.#arrive(change, by)
      },
      epoch: () => this.#epoch,
      isMixed: this.isMixed,
      fail: (what: string, details: unknown) => this.fail(what, details),
    }
    this.devices = Array.from({ length: dice.between(2, 4) }, (_, index) => {
      const traits = { skewMs: this.skewMs(), isShared: dice.happens(0.5), isOlder: dice.happens(0.2) }
      return new Device(parts, `device${index}`, traits)
    })
  }

  /** Plays events, some of them while work of earlier ones is still in progress. */
  async take(steps: number): Promise<void> {
    for (const device of this.devices) await device.signIn()
    for (let step = 0; step < steps && this.failures.length === 0; step++) {
      const device = this.dice.pick(this.devices)
      const name = this.dice.draw(this.isMixed ? weights : unmixed)
      this.journal.push(`${device.id} ${name}`)
      if (device.session === 'out') await device.signIn()
      else if (device.tab) await events[name](this, device, device.tab)
      if (this.dice.happens(0.7)) await settled()
      else await turns(this.dice.below(4))
    }
    await settled()
  }

  async backUp(): Promise<void> {
    this.#restore = await backUp(this.#app, this.user.userId)
    this.ledger.backUp()
  }

  /** The operator restores the service to the last backup. */
  async restore(): Promise<void> {
    if (!this.#restore) return
    // No restore takes less, so the service's clock is later than all that it has lost.
    await this.world.pass(60_000)
    for (const { tabs } of this.devices) for (const { wire } of tabs) wire.socket?.close()
    // A service is not restored under requests. Postgres would serve them in between.
    await settled()
    this.#epoch = await this.#restore()
    this.ledger.restore()
  }

  /** Adds to the event's line in the journal. */
  note(what: string): void {
    this.journal.push(`${this.journal.pop()} ${what}`)
  }

  fail(what: string, details: unknown): void {
    this.failures.push(`${what}: ${typeof details === 'string' ? details : JSON.stringify(details)}`)
  }

  /** A text that occurs nowhere else. */
  unique(prefix: string): string {
    return `${prefix}${this.#uniques++}`
  }

  /** The key of a record with this id, of a random type if the run has several. */
  anyKey(id: string): string {
    return this.isMixed ? rowKey(id, this.dice.pick(entityTypes)) : id
  }

  /** The clock's error (ms): none in two of five cases, otherwise up to 6 h ahead or behind. */
  skewMs(): number {
    return this.dice.happens(0.4) ? 0 : Math.round((this.dice.roll() * 12 - 6) * hourMs)
  }

  /** The service's live records, by key. Reports to the ledger which versions the service keeps as conflicts. */
  async readService(): Promise<Map<string, PlaintextBookmark>> {
    const { changes } = await pullAll(this.user)
    for (const conflict of await this.#conflicts()) {
      this.ledger.keep({ id: keyOfChange(conflict), mine: this.#contentOf(conflict) })
    }
    const live = changes.filter(({ operation }) => operation !== 'delete')
    const mark = markOf(this.vault.keys)
    const old = live.filter(({ encrypted_data }) => this.vault.keys.older && !encrypted_data?.startsWith(mark))
    if (old.length > 0) this.fail('Under an older key', old.map(keyOfChange))
    return new Map(live.map((event) => [keyOfChange(event), this.#open(event)]))
  }

  async #conflicts(): Promise<PushBody['changes']> {
    const conflicts: PushBody['changes'] = []
    for (let next: string | null = '', path = '/api/v1/sync/conflicts'; next !== null; ) {
      const { body } = await this.user.call('GET', next ? `${path}?after=${next}` : path)
      conflicts.push(...body.conflicts)
      next = body.next
    }
    return conflicts
  }

  #contentOf(change: Sealed & { operation: string }): PlaintextBookmark | null {
    return change.operation === 'delete' ? null : this.#open(change)
  }

  #open({ entity_id: id, entity_type, encrypted_data = '', data_hash = '' }: Sealed): PlaintextBookmark {
    const record = decryptBookmark(this.vault.keys, { id, encrypted_data, data_hash }, entity_type)
    return keyed(record, rowKey(id, entity_type))
  }

  #arrive(change: PushBody['changes'][number], by: Device): void {
    const { device_id } = change
    const id = keyOfChange(change)
    try {
      const content = this.#contentOf(change)
      // A store's new id begins with its earlier one.
      const makers = this.devices.filter(({ madeAs }) => madeAs === device_id.split('-')[0])
      for (const maker of makers) this.ledger.arrive(maker.id, id, content, by.id)
    } catch {
      this.fail('A record was sealed with another key', id)
    }
  }

  /** An edit under a clock far ahead of the service's would win over later edits for hours. */
  #checkStamp(change: PushBody['changes'][number]): void {
    const { device_id, timestamp, base } = change
    const id = keyOfChange(change)
    const now = this.world.time
    if (timestamp < now + hourMs + 60_000) return
    // A device that has pulled no change yet may not know the service's time.
    if (base === 0) this.#ahead.add(id)
    if (!this.#ahead.has(id)) this.fail(`${device_id} has sent an edit from the future`, { id, timestamp, now })
  }
}

/** True if a change is current at the service, or kept there as a conflict. */
function isKept(conflict: string | undefined): boolean {
  return conflict === undefined || /^(Last write wins|Equal timestamps)/.test(conflict)
}

/** Plays one run, the same for the same seed. Returns its faults. */
export async function runChaos(app: TestApp, seed: number): Promise<{ failures: string[]; journal: string[] }> {
  const name = `chaos${runs++}`
  const { id } = await app.context.database.db.selectFrom('epoch').select('id').executeTakeFirstOrThrow()
  const run = new Run(app, await app.user(name), name, seed, id)
  await run.take(run.dice.between(10, 40))
  if (run.failures.length === 0) await checkEnd(run)
  for (const device of run.devices) device.crash()
  return run
}

const tables = ['ciphertexts', 'records', 'versions', 'devices'] as const

/** Copies the service's rows of a person. The returned function restores them and returns the new epoch. */
export async function backUp({ context }: TestApp, userId: string): Promise<() => Promise<string>> {
  const { database, clock } = context
  const { db } = database
  const user = await db
    .selectFrom('users')
    .select(['last_sequence', 'live_bookmarks', 'stored_bytes', 'version_bytes', 'stored_records', 'stored_versions'])
    .select(['empty_tombstones', 'empty_tombstones_after', 'digest'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  const kept = new Map<(typeof tables)[number], Selectable<Schema[(typeof tables)[number]]>[]>()
  for (const table of tables) {
    kept.set(table, await db.selectFrom(table).selectAll().where('user_id', '=', userId).execute())
  }
  return async () => {
    for (const table of [...tables].reverse()) await db.deleteFrom(table).where('user_id', '=', userId).execute()
    for (const [table, rows] of kept) if (rows.length > 0) await db.insertInto(table).values(rows).execute()
    await db.updateTable('users').set(user).where('id', '=', userId).execute()
    return beginEpoch(database, clock())
  }
}
