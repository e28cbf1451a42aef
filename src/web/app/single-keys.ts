import { sharedValue } from '../ui/shared-value.ts'

const stored = 'single-keys'

/**
 * Whether `/`, `n`, `f` and `?` work wherever nobody types. Who speaks to the computer, or hits keys by accident, turns them
 * off for this browser (WCAG 2.1.4). The keys of a list work while the focus is in it, and need no switch.
 */
const singleKeys = sharedValue(localStorage.getItem(stored) !== 'off')

export const { get: areSingleKeysOn, use: useSingleKeys } = singleKeys

export function setSingleKeys(on: boolean): void {
  localStorage.setItem(stored, on ? 'on' : 'off')
  singleKeys.set(on)
}
