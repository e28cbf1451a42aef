/** A piece of a text that both versions have, or only the older one, or only the newer one. */
export interface Piece {
  kind: 'same' | 'removed' | 'added'
  text: string
}

/** Comparing longer texts word by word takes too long. */
const mostSteps = 250_000
/** With less in common, the two are easier to read one after the other. */
const leastInCommon = 0.3

/** What was removed from a text and what was added, word by word. */
export function textDifference(before: string, after: string): Piece[] {
  const [old, fresh] = [wordsOf(before), wordsOf(after)]
  const whole = merged([
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ])
  if (old.length * fresh.length > mostSteps) return whole
  const pieces = merged(walk(old, fresh))
  const common = pieces.reduce((sum, { kind, text }) => sum + (kind === 'same' ? text.length : 0), 0)
  return common < leastInCommon * Math.max(before.length, after.length) ? whole : pieces
}

function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}]+|\s+|./gsu) ?? []
}

/** Along the longest common subsequence. */
function walk(old: readonly string[], fresh: readonly string[]): Piece[] {
  const lengths = commonLengths(old, fresh)
  const pieces: Piece[] = []
  let [at, to] = [0, 0]
  while (at < old.length || to < fresh.length) {
    const [removed, added] = [old[at], fresh[to]]
    if (removed !== undefined && removed === added) {
      pieces.push({ kind: 'same', text: removed })
      at++
      to++
    } else if (
      added === undefined ||
      (removed !== undefined && lengthAt(lengths, at + 1, to) >= lengthAt(lengths, at, to + 1))
    ) {
      pieces.push({ kind: 'removed', text: removed as string })
      at++
    } else {
      pieces.push({ kind: 'added', text: added })
      to++
    }
  }
  return pieces
}

/** How long the longest common subsequence of the two rests is, for each pair of places. */
function commonLengths(old: readonly string[], fresh: readonly string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array<number>(fresh.length + 1).fill(0))
  for (let at = old.length - 1; at >= 0; at--) {
    const row = lengths[at] as number[]
    for (let to = fresh.length - 1; to >= 0; to--) {
      row[to] =
        old[at] === fresh[to]
          ? lengthAt(lengths, at + 1, to + 1) + 1
          : Math.max(lengthAt(lengths, at + 1, to), lengthAt(lengths, at, to + 1))
    }
  }
  return lengths
}

function lengthAt(lengths: readonly number[][], at: number, to: number): number {
  return lengths[at]?.[to] ?? 0
}

/** Neighbours of the same kind are one piece. */
function merged(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = []
  for (const { kind, text } of pieces) {
    const last = joined.at(-1)
    if (text === '') continue
    if (last?.kind === kind) last.text += text
    else joined.push({ kind, text })
  }
  return joined
}
