import { BASE_52_DIGITS, BASE_62_DIGITS, generateKeyBetween, generateNKeysBetween } from 'fractional-indexing'

/** Digits within a run: zero begins the device's mark. */
const runDigits = BASE_62_DIGITS.slice(1)
/** Nested runs end at this length. From then on, every sixth item at a place makes a position a digit longer. */
const longestStart = 60

/**
 * Rising positions of siblings that go between two others. What a device puts at one place, at once or one by one, is a run:
 * its positions begin with the run's own, which ends in the device's mark. So runs that devices have put at the same place
 * while apart come one after the other.
 *
 * @param lower the position below; null for the start
 * @param upper the position above, which is greater; null for the end
 * @param maker the device's id
 */
export function positionsBetween(lower: string | null, upper: string | null, count: number, maker: string): string[] {
  const mark = markOf(maker)
  const [above, below] = [runOf(lower, mark), runOf(upper, mark)]
  const fill = (run: string, from: string | null = null, to: string | null = null) =>
    generateNKeysBetween(from, to, count, runDigits, BASE_52_DIGITS).map((key) => run + key)
  // A run has no end of its own, unless both neighbours are in it.
  if (lower !== null && above && !upper?.startsWith(above)) return fill(above, lower.slice(above.length))
  if (upper !== null && below && !lower?.startsWith(below)) return fill(below, null, upper.slice(below.length))
  let start = generateKeyBetween(lower, upper)
  while (upper?.startsWith(start)) start = generateKeyBetween(lower, start)
  return start.length > longestStart ? generateNKeysBetween(lower, upper, count) : fill(start + mark)
}

/** True of a valid fractional index: other values cannot bound one. */
export function isPosition(position: unknown): position is string {
  return typeof position === 'string' && isKey(position)
}

/** The run of the position, if this device made it. */
function runOf(position: string | null, mark: string): string | undefined {
  const at = position?.lastIndexOf('0') ?? -1
  if (!position?.startsWith(mark, at) || !isKey(position.slice(0, at))) return undefined
  const end = at + mark.length
  return isKey(position.slice(end), runDigits) ? position.slice(0, end) : undefined
}

function isKey(key: string, digits: string = BASE_62_DIGITS): boolean {
  if (!/^[A-Za-z][0-9A-Za-z]+$/.test(key)) return false
  try {
    generateKeyBetween(key, null, digits, BASE_52_DIGITS)
    return true
  } catch {
    return false
  }
}

/** A mark that two of a user's devices share once in some 200,000. */
function markOf(maker: string): string {
  let hash = 0
  for (const letter of maker) hash = (hash * 31 + (letter.codePointAt(0) as number)) % runDigits.length ** 3
  const digit = (divisor: number) => runDigits.charAt(Math.floor(hash / divisor) % runDigits.length)
  return `0${digit(1)}${digit(runDigits.length)}${digit(runDigits.length ** 2)}`
}
