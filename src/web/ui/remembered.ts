import { useState } from 'preact/hooks'

export function remembered<T extends string>(name: string, values: readonly T[]): T {
  const kept = localStorage.getItem(`look-${name}`)
  return values.find((one) => one === kept) ?? (values[0] as T)
}

/** A display setting that this browser remembers. */
export function useRemembered<T extends string>(name: string, values: readonly T[]): [T, (value: T) => void] {
  const [value, setValue] = useState(remembered(name, values))
  const remember = (next: T) => {
    localStorage.setItem(`look-${name}`, next)
    setValue(next)
  }
  return [value, remember]
}
