import { useSync } from '../../client/react.ts'
import { type Bookmark, nameOf } from '../library/kind.ts'

interface ChangesProps {
  before: Bookmark
  after: Bookmark
}

/** Field by field what differs between two versions of a bookmark. */
export function Changes({ before, after }: ChangesProps) {
  const sync = useSync()
  const nameOfFolder = (id: unknown) => {
    if (id === undefined) return 'Top level'
    const folder = sync.get(String(id))
    return folder ? nameOf(folder) : 'a folder that is not there any more'
  }
  const fields = changedFields(before, after)
  if (fields.length === 0) return <p class="hint">Nothing that can be seen.</p>
  return (
    <dl class="changes">
      {fields.map((field) => (
        <div key={field}>
          <dt>{fieldName(field)}</dt>
          <dd>
            <Difference pieces={piecesOf(field, before[field], after[field], nameOfFolder)} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Difference({ pieces }: { pieces: readonly Piece[] }) {
  return (
    <>
      {pieces.map(({ kind, text }, at) => {
        const key = `${at} ${kind}`
        if (kind === 'removed') return <del key={key}>{text}</del>
        if (kind === 'added') return <ins key={key}>{text}</ins>
        return <span key={key}>{text}</span>
      })}
    </>
  )
}

/** The fields that people know come first, in the order of the editor. */
const labels: Record<string, string> = {
  url: 'Address',
  title: 'Title',
  parentId: 'Folder',
  tags: 'Tags',
  description: 'Description',
  position: 'Place',
  favicon: 'Icon',
  dateAdded: 'Added',
}
const known = Object.keys(labels)

export function fieldName(field: string): string {
  return labels[field] ?? field
}

/** It differs in every version. */
const untold = ['id', 'dateModified']

function changedFields(before: Bookmark, after: Bookmark): (keyof Bookmark)[] {
  const all = [...new Set([...known, ...Object.keys(before), ...Object.keys(after)])] as (keyof Bookmark)[]
  return all.filter(
    (field) => !untold.includes(field) && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
}

function piecesOf(
  field: keyof Bookmark,
  before: unknown,
  after: unknown,
  nameOfFolder: (id: unknown) => string,
): Piece[] {
  if (field === 'parentId') return replaced(nameOfFolder(before), nameOfFolder(after))
  if (field === 'position') return [{ kind: 'same', text: 'moved among its neighbours' }]
  if (field === 'favicon') return [{ kind: 'same', text: 'another picture' }]
  if (field === 'tags') return tagPieces(listOf(before), listOf(after))
  return textDifference(textOf(before), textOf(after))
}

function replaced(before: string, after: string): Piece[] {
  return [
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ]
}

function tagPieces(before: readonly string[], after: readonly string[]): Piece[] {
  const [old, fresh] = [new Set(before), new Set(after)]
  return [...new Set([...before, ...after])].map((text) => {
    const kind = !fresh.has(text) ? 'removed' : old.has(text) ? 'same' : 'added'
    return { kind, text: `#${text} ` }
  })
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A piece of a text that both versions have, or only the older one, or only the newer one. */
interface Piece {
  kind: 'same' | 'removed' | 'added'
  text: string
}

/** Comparing longer texts word by word takes too long. */
const mostSteps = 250_000
/** With less in common, the two are easier to read one after the other. */
const leastInCommon = 0.3

/** The words that were removed from a text, and those that were added. */
function textDifference(before: string, after: string): Piece[] {
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
