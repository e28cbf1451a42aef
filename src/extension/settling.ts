/** Stands before the name of a value that is not settled, for the one before. */
const mark = '\x01'

/**
 * Values by name, of which those before are kept until no crash of the browser can undo what has changed. The one before is
 * stored under a name of its own, as what `write` makes of that and of the value; null: there was none.
 */
export class Settling<Value> {
  readonly values: Map<string, Value>
  readonly #write: (name: string, before: Value | null) => Value
  readonly #before = new Map<string, Value | null>()
  /** What is not stored. */
  #changed = new Set<string>()
  /** What has changed since the last turn, and between that and the turn before. */
  #fresh = new Set<string>()
  #settling = new Set<string>()

  /** @param recall after a restart of the browser: which of the two holds, of what is not settled */
  constructor(
    stored: Map<string, Value>,
    read: (before: Value, name: string) => Value | null,
    write: (name: string, before: Value | null) => Value,
    recall?: (name: string, after: Value | null, before: Value | null) => Value | null,
  ) {
    this.values = stored
    this.#write = write
    for (const [marked, value] of [...stored]) {
      if (!marked.startsWith(mark)) continue
      const name = marked.slice(mark.length)
      const before = read(value, name)
      stored.delete(marked)
      this.#before.set(name, before)
      this.#fresh.add(name)
      if (recall) this.#put(name, recall(name, stored.get(name) ?? null, before))
    }
  }

  get isSettled(): boolean {
    return this.#fresh.size + this.#settling.size === 0
  }

  set(name: string, value: Value | null): void {
    if (!this.#before.has(name)) this.#before.set(name, this.values.get(name) ?? null)
    this.#put(name, value)
    this.#changed.add(name)
    this.#fresh.add(name)
    this.#settling.delete(name)
  }

  /** What is to be stored of what has changed. */
  takeChanged(): Map<string, Value | null> {
    const taken = new Map<string, Value | null>()
    for (const name of this.#changed) {
      taken.set(name, this.values.get(name) ?? null)
      taken.set(mark + name, this.#write(mark + name, this.#before.get(name) ?? null))
    }
    this.#changed = new Set()
    return taken
  }

  /** Sets what is stored as it is, without one before: it holds even after a crash. */
  announce(values: ReadonlyMap<string, Value | null>): void {
    for (const [name, value] of values) this.#put(name, value)
    this.#settle(values.keys())
  }

  /** Returns what is to be stored of what has not changed since the turn before the last one. */
  turn(): Map<string, Value | null> {
    const settled = this.#settling
    this.#settling = this.#fresh
    this.#fresh = new Set()
    return this.#settle(settled)
  }

  #settle(names: Iterable<string>): Map<string, Value | null> {
    const taken = new Map<string, Value | null>()
    for (const name of names) {
      taken.set(name, this.values.get(name) ?? null)
      if (this.#before.delete(name)) taken.set(mark + name, null)
      for (const set of [this.#changed, this.#fresh, this.#settling]) set.delete(name)
    }
    return taken
  }

  #put(name: string, value: Value | null): void {
    if (value === null) this.values.delete(name)
    else this.values.set(name, value)
  }
}

/** What is to be stored of values that hold even after a crash. */
export function withoutBefore<Value>(values: ReadonlyMap<string, Value | null>): Map<string, Value | null> {
  return new Map([...values, ...[...values.keys()].map((name) => [mark + name, null] as const)])
}
