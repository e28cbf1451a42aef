import { BASE_52_DIGITS, BASE_62_DIGITS, generateKeyBetween, generateNKeysBetween } from 'fractional-indexing'

/** The digits of positions within a run (see `positionsBetween`), without zero, which begins the device's mark. */
const runDigits = BASE_62_DIGITS.slice(1)
/** The most characters before a run's mark. Runs within runs make positions ever longer: beyond this, there are no more runs. */
const longestStart = 60

/**
 * `count` ascending positions between two siblings. Items that a device puts at one place, at once or one by one, are a
 * run: their positions share a prefix, which ends in the device's mark. So if two devices add items at the same place while
 * offline, one device's items follow the other's, and they do not mix.
 *
 * @param lower the position of the sibling before; null for the start
 * @param upper the position of the sibling after, which is greater; null for the end
 * @param maker the device's id; for an import, the ids of the items
 */
export function positionsBetween(lower: string | null, upper: string | null, count: number, maker: string): string[] {
  const mark = markOf(maker)
  const [above, below] = [runOf(lower, mark), runOf(upper, mark)]
  const fill = (run: string, from: string | null = null, to: string | null = null) =>
    generateNKeysBetween(from, to, count, runDigits, BASE_52_DIGITS).map((key) => run + key)
  // If only one neighbour is in a run of this device, the items extend that run.
  if (lower !== null && above && !upper?.startsWith(above)) return fill(above, lower.slice(above.length))
  if (upper !== null && below && !lower?.startsWith(below)) return fill(below, null, upper.slice(below.length))
  let start = generateKeyBetween(lower, upper)
  while (upper?.startsWith(start)) start = generateKeyBetween(lower, start)
  return start.length > longestStart ? generateNKeysBetween(lower, upper, count) : fill(start + mark)
}

/** True for a valid fractional index. Other values cannot be neighbours of a new position. */
export function isPosition(position: unknown): position is string {
  return typeof position === 'string' && isKey(position)
}

/** The prefix of the position's run, if this device made the run. */
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

/** A hash of the device's id. Two devices have the same mark with a probability of about 1 in 200,000. */
function markOf(maker: string): string {
  let hash = 0
  for (const letter of maker) hash = (hash * 31 + (letter.codePointAt(0) as number)) % runDigits.length ** 3
  const digit = (divisor: number) => runDigits.charAt(Math.floor(hash / divisor) % runDigits.length)
  return `0${digit(1)}${digit(runDigits.length)}${digit(runDigits.length ** 2)}`
}
