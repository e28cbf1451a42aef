import { useSync } from '../../client/react.ts'
import { type Bookmark, nameOf } from '../library/kind.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'

interface ChangesProps {
  before: Bookmark
  after: Bookmark
}

/** Shows the differences between two versions of a bookmark, field by field. */
export function Changes({ before, after }: ChangesProps) {
  const sync = useSync()
  const nameOfFolder = (id: unknown) => {
    if (id === undefined) return say.ui.topLevel
    const folder = sync.get(String(id))
    return folder ? nameOf(folder) : later.history.missingFolder
  }
  const fields = changedFields(before, after)
  if (fields.length === 0) return <p class="hint">{later.history.nothingSeen}</p>
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
        if (text === '') return null
        if (kind === 'removed') return <del key={key}>{text}</del>
        if (kind === 'added') return <ins key={key}>{text}</ins>
        return <span key={key}>{text}</span>
      })}
    </>
  )
}

/** Shown first, in this order, which for most is that of the bookmark's form. Other fields follow. */
const known = Object.keys(later.history.fields)

export function fieldName(field: string): string {
  return later.history.fields[field] ?? field
}

/** Never shown: `id` is the same in all versions, and `dateModified` differs in nearly all. */
const neverShown = ['id', 'dateModified']

function changedFields(before: Bookmark, after: Bookmark): (keyof Bookmark)[] {
  const all = [...new Set([...known, ...Object.keys(before), ...Object.keys(after)])] as (keyof Bookmark)[]
  return all.filter(
    (field) => !neverShown.includes(field) && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
}

function piecesOf(
  field: keyof Bookmark,
  before: unknown,
  after: unknown,
  nameOfFolder: (id: unknown) => string,
): Piece[] {
  if (field === 'parentId') return replaced(nameOfFolder(before), nameOfFolder(after))
  if (field === 'position') return [{ kind: 'same', text: later.history.movedAmong }]
  if (field === 'favicon') return [{ kind: 'same', text: later.history.otherPicture }]
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

/** A piece of text in both versions, or only in the older or the newer one. */
interface Piece {
  kind: 'same' | 'removed' | 'added'
  text: string
}

/** Texts with a smaller share in common at both ends are shown one after the other, which is easier to read. */
const leastInCommon = 0.3

/** Finds the words that were replaced. Compares only from both ends, because most edits are in one place. */
function textDifference(before: string, after: string): Piece[] {
  const [old, fresh] = [wordsOf(before), wordsOf(after)]
  const most = Math.min(old.length, fresh.length)
  let start = 0
  while (start < most && old[start] === fresh[start]) start++
  let end = 0
  while (end < most - start && old.at(-1 - end) === fresh.at(-1 - end)) end++
  const [head, tail] = [old.slice(0, start).join(''), old.slice(old.length - end).join('')]
  if (head.length + tail.length < leastInCommon * Math.max(before.length, after.length)) return replaced(before, after)
  const middle = (words: readonly string[]) => words.slice(start, words.length - end).join('')
  return [{ kind: 'same', text: head }, ...replaced(middle(old), middle(fresh)), { kind: 'same', text: tail }]
}

function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}]+|\s+|./gsu) ?? []
}
