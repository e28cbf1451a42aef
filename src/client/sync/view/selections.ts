import { isEqual } from '../../bookmark/equal.ts'
import { Emitter } from '../store/emitter.ts'

/** A value that follows the sync: `subscribe` and `read` are the arguments of React's `useSyncExternalStore`. */
export interface Selection<T> {
  /** The value; the same one (`===`) until it differs. */
  read(): T
  /** Calls the listener each time the value differs from the one before; returns a function that removes the listener. */
  subscribe(listener: () => void): () => void
}

/** A value as a Svelte store. */
export interface Readable<T> {
  /** Calls `run` with the value, at once and each time it differs; returns a function that stops that. */
  subscribe(run: (value: T) => void): () => void
}

/** The selection as a Svelte store, `$value` in a component. Elsewhere, subscribe with a `run` that sets a value. */
export function toReadable<T>({ read, subscribe }: Selection<T>): Readable<T> {
  return {
    subscribe(run) {
      const end = subscribe(() => run(read()))
      run(read())
      return end
    },
  }
}

/** The values that an app has selected. Without subscribers, a value is only computed when it is read. */
export class Selections {
  readonly #refreshed = new Emitter<{ refresh: undefined }>()
  /** Counts the moments at which a value may have changed. */
  #revision = 0

  constructor(emitter: Emitter) {
    // These listeners come before the app's own, which thus read new values. `refresh` is called after the app's.
    for (const event of ['change', 'groups', 'history', 'conflict'] as const) {
      emitter.on(event, () => {
        this.#revision++
      })
    }
    emitter.on('status', () => this.refresh())
  }

  /** Must be called after each change of the replica. */
  refresh(): void {
    this.#revision++
    this.#refreshed.emit('refresh', undefined)
  }

  select<T>(selector: () => T): Selection<T> {
    let current: { value: T } | undefined
    let revision = 0
    const read = () => {
      if (!current || revision !== this.#revision) {
        const value = selector()
        if (!current || !isEqual(current.value, value)) current = { value }
        revision = this.#revision
      }
      return current.value
    }
    return { read, subscribe: (listener) => this.#subscribe(read, listener) }
  }

  #subscribe<T>(read: () => T, listener: () => void): () => void {
    let last = attempt(read)
    return this.#refreshed.on('refresh', () => {
      const now = attempt(read)
      if (Object.is(now?.value, last?.value) && !now === !last) return
      last = now
      listener()
    })
  }
}

/** Undefined if the selector throws, for example because its bookmark is gone. The app gets the error when it reads the value. */
function attempt<T>(read: () => T): { value: T } | undefined {
  try {
    return { value: read() }
  } catch {
    return undefined
  }
}
