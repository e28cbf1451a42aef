import type { Keys } from '../../crypto/keys.ts'
import type { ExchangeParts } from '../exchange/exchange.ts'
import type { Row } from '../store/store.ts'
import { needsHerald, type Resealed, toChange } from './resealed.ts'
import type { RotationTools } from './tools.ts'

export interface ResealOptions {
  onProgress?: ((done: number, total: number) => void) | undefined
  signal: AbortSignal
}

const mostRows = 500
const mostCharacters = 4 * 1024 * 1024

/** Encrypts under the newest key what is under older ones, once keys were rotated. A file of its own: few ever need it. */
export class Rotation {
  readonly #tools: RotationTools

  constructor(tools: RotationTools) {
    this.#tools = tools
  }

  /**
   * From here on, this device encrypts under these keys alone. Tabs that do not have them send nothing any more.
   *
   * @throws RecordError `unknown-key`: they were replaced, and nothing was changed
   */
  async adoptKeys(parts: ExchangeParts, opened: Keys, options: ResealOptions): Promise<void> {
    await this.#tools.takeKeys(parts.replica, opened, parts.keys)
    await this.#tools.exchange(parts, options.signal)
    await this.reseal(parts, options)
  }

  /**
   * Sends every bookmark that is under an older key again, under the newest. If it is cut off, any device can go on: the keys
   * that records name tell what is left.
   *
   * @throws ApiError the service refuses a batch, for example for the quota; what was sent before is done
   */
  async reseal(parts: ExchangeParts, { onProgress, signal }: ResealOptions): Promise<void> {
    const { keys, tabs, replica } = parts
    if (!keys.older) return
    const newest = this.#tools.bytesToBase64(keys.prefix)
    /** Event ids of versions that stayed as they were: trying again would change nothing. */
    const given = new Set<string>()
    const listStale = () => [...replica.rows.values()].filter((row) => isStale(row, newest, given))
    const total = listStale().length
    for (let left = total; left > 0; left = listStale().length) {
      onProgress?.(Math.max(0, total - left), total)
      await tabs.exclusively('exchange', () => this.#resealBatch(parts, listStale(), given, signal), signal)
    }
    onProgress?.(total, total)
  }

  async #resealBatch(
    parts: ExchangeParts,
    stale: readonly Row[],
    given: Set<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const { replica, keys } = parts
    // Another tab may have newer keys by now.
    await this.#tools.takeKeys(replica, keys)
    const rows = this.#firstOf(stale)
    const herald = needsHerald(parts, stale) ? rows.find(({ waiting }) => waiting.length === 0)?.id : undefined
    const changes = await this.#seal(parts, rows, herald, signal)
    if (changes.length > 0) await this.#push(parts, changes, signal)
    for (const { id, version } of rows) {
      if (version && replica.rows.get(id)?.version?.event_id === version.event_id) given.add(version.event_id)
    }
  }

  #firstOf(stale: readonly Row[]): Row[] {
    let characters = 0
    const fits = ({ version }: Row, index: number) => {
      characters += version?.bookmark ? this.#tools.sealedLength(version.bookmark) : 0
      return index === 0 || characters <= mostCharacters
    }
    return stale.slice(0, mostRows).filter(fits)
  }

  /** What cannot be sealed is left out. */
  async #seal(
    parts: ExchangeParts,
    rows: readonly Row[],
    herald: string | undefined,
    signal: AbortSignal,
  ): Promise<Resealed[]> {
    const { sealList, uuidv7 } = this.#tools
    const bookmarks = rows.flatMap(({ version }) => version?.bookmark ?? [])
    const edits = await sealList(parts.keys, bookmarks, signal, () => {})
    const sealed = new Map(edits.flatMap((edit) => ('sealed' in edit ? [[edit.id, edit.sealed] as const] : [])))
    return rows.flatMap(({ id, version }) => {
      const content = sealed.get(id)
      return version && content ? toChange(parts, { id, version, content, isHerald: id === herald }, uuidv7) : []
    })
  }

  async #push(parts: ExchangeParts, changes: Resealed[], signal: AbortSignal): Promise<void> {
    const { transport, replica, keys } = parts
    const { accepted_ids, epoch } = await transport.push({ changes }, { signal })
    const accepted = new Set(accepted_ids)
    const ids = changes.map(({ entity_id }) => entity_id)
    await replica.commit(ids, 'remote', (draft) => {
      for (const change of changes) {
        const row = draft.get(change.entity_id)
        if (!row.version || !accepted.has(change.id)) continue
        const { id: event_id, operation, timestamp, device_id, data_hash = null, base } = change
        const sent = { event_id, operation, timestamp, device_id, data_hash, base, confirmed: false }
        draft.set({ ...row, version: { ...row.version, ...sent, ...this.#tools.markOf(keys, change) } })
      }
    })
    // What was not accepted has been edited meanwhile.
    if (accepted.size < changes.length || epoch !== replica.meta.epoch) await this.#tools.pullAll(parts, signal)
  }
}

/** A delete has no ciphertext of its own, and edits that wait are sent under the newest key anyway. */
function isStale({ version, held, unreadable, waiting }: Row, newest: string, given: ReadonlySet<string>): boolean {
  if (!version?.bookmark || held || unreadable || given.has(version.event_id)) return false
  return version.key !== newest && waiting.every(({ refusal }) => refusal)
}
