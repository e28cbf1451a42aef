import { useSync } from '../../client/react.ts'
import { type Bookmark, nameOf } from '../library/kind.ts'
import { type Piece, textDifference } from './text-difference.ts'

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
          <dt>{labels[field] ?? field}</dt>
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
  return [...new Set([...before, ...after])].map((text) => {
    const kind = !after.includes(text) ? 'removed' : before.includes(text) ? 'same' : 'added'
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
