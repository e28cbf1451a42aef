import { sharedValue } from '../ui/shared-value.ts'

const stored = 'single-keys'

/** The person's choice since the page was loaded. */
const chosen = sharedValue<boolean | undefined>(undefined)

/**
 * True if `/`, `n`, `f` and `?` work while nobody types. Can be turned off in this browser, for people who use speech
 * input or hit keys by accident (WCAG 2.1.4). The keys of a list only work while it has the focus, so they need no
 * switch.
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
