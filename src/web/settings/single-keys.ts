import { sharedValue } from '../ui/shared-value.ts'

const stored = 'single-keys'

/** The choice since the page was loaded. */
const chosen = sharedValue<boolean | undefined>(undefined)

/**
 * True if `/`, `n`, `f` and `?` work wherever nobody types. Who speaks to the computer, or hits keys by accident, turns them
 * off for this browser (WCAG 2.1.4). The keys of a list work while the focus is in it, and need no switch.
 */
export function areSingleKeysOn(): boolean {
  return chosen.get() ?? isStoredOn()
}

export function useSingleKeys(): boolean {
  return chosen.use() ?? isStoredOn()
}

export function setSingleKeys(on: boolean): void {
  localStorage.setItem(stored, on ? 'on' : 'off')
  chosen.set(on)
}

function isStoredOn(): boolean {
  return localStorage.getItem(stored) !== 'off'
}
