import { useState } from 'preact/hooks'

/** Something that this browser remembers about how the page looks. */
export function useRemembered<T extends string>(name: string, values: readonly T[]): [T, (value: T) => void] {
  const kept = localStorage.getItem(`look-${name}`)
  const [value, setValue] = useState<T>(values.find((one) => one === kept) ?? (values[0] as T))
  const remember = (next: T) => {
    localStorage.setItem(`look-${name}`, next)
    setValue(next)
  }
  return [value, remember]
}
