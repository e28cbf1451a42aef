const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * The fractional index of a folder's nth item, counted from 0: a0, a1, … az, b00, b01, … in the format of the npm package
 * `fractional-indexing`, whose `generateKeyBetween` finds places between two of them. They are compared as strings, by
 * code unit.
 */
export function positionAt(index: number): string {
  let width = 1
  let rest = index
  for (let count = 62; rest >= count; count *= 62) {
    rest -= count
    width++
  }
  let digits = ''
  for (; digits.length < width; rest = Math.floor(rest / 62)) digits = DIGITS.charAt(rest % 62) + digits
  return String.fromCharCode(96 + width) + digits
}

/** Compares items of a folder for sorting. Items without a position come last; equal ones keep their order. */
export function byPosition(a: { position?: unknown }, b: { position?: unknown }): number {
  if (typeof a.position !== 'string') return typeof b.position === 'string' ? 1 : 0
  if (typeof b.position !== 'string' || a.position < b.position) return -1
  return a.position > b.position ? 1 : 0
}
