import { keepConflict, withoutEnded } from './conflicts.ts'
import type { Conflict, SyncEvents } from './emitter.ts'
import { blankRow } from './row.ts'
import type { Meta, Row } from './store.ts'

/** What one commit changes, and what it reports. */
export class Draft {
  readonly conflicts: Conflict[] = []
  readonly errors: SyncEvents['error'][] = []
  /** The meta's, and the unsent edits that are taken back by this. */
  readonly withdrawn: Record<string, string>
  #meta: Meta
  readonly #rows: Map<string, Row>
  readonly #changed = new Map<string, Row>()
  #metaChanged = false

  constructor(meta: Meta, rows: readonly Row[]) {
    this.#meta = meta
    this.withdrawn = { ...meta.withdrawn }
    this.#rows = new Map(rows.map((row) => [row.id, row]))
  }

  get meta(): Readonly<Meta> {
    return this.#meta
  }

  get isChanged(): boolean {
    return this.#metaChanged || this.#changed.size > 0
  }

  get changedRows(): Row[] {
    return [...this.#changed.values()]
  }

  get(id: string): Row {
    return this.#changed.get(id) ?? this.#rows.get(id) ?? blankRow(id)
  }

  set(row: Row): void {
    const before = this.get(row.id)
    const last = before.waiting.at(-1)
    if (last && row.waiting.length === 0 && row.version === before.version) this.withdrawn[row.id] = last.change.id
    this.#changed.set(row.id, withoutEnded(row))
  }

  /** Keeps and reports an edit of this row that lost. */
  lose(row: Row, lost: Omit<Conflict, 'id'>): void {
    const conflict = { id: row.id, ...lost }
    this.conflicts.push(conflict)
    this.set(keepConflict(row, conflict))
  }

  setMeta(fields: Partial<Omit<Meta, 'userId'>>): void {
    const names = Object.keys(fields) as (keyof typeof fields)[]
    if (names.every((name) => this.#meta[name] === fields[name])) return
    this.#meta = { ...this.#meta, ...fields }
    this.#metaChanged = true
  }
}
