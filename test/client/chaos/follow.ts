import type { Device, Tab } from './device.ts'

/** Follows an edit until its caller is answered, and tells the ledger. */
export function follow(
  device: Device,
  tab: Tab,
  what: string,
  edit: Promise<unknown>,
  answer: (outcome: 'kept' | 'refused') => void,
): void {
  edit.then(
    () => answer('kept'),
    () => answer('refused'),
  )
  device.call(what, tab, edit)
}
