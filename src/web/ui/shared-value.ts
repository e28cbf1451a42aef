import { useSyncExternalStore } from 'preact/compat'

/** A global value. Components that call `use` are drawn again when it changes. */
export interface SharedValue<T> {
  get(): T
  set(next: T): void
  use(): T
}

export function sharedValue<T>(first: T): SharedValue<T> {
  let value = first
  const listeners = new Set<() => void>()
  const get = () => value
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    get,
    set(next) {
      if (next === value) return
      value = next
      for (const listener of listeners) listener()
    },
    use: () => useSyncExternalStore(subscribe, get),
  }
}
