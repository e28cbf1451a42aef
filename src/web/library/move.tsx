import type { MutableRefObject } from 'preact/compat'
import { useMemo, useRef, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { fold } from '../../client/sync/search/fold.ts'
import { Combobox, type Option } from '../ui/combobox.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { tellFailure } from '../ui/failure.ts'
import { Form, FormEnd, useCheck } from '../ui/form.tsx'
import { say } from '../words/words.ts'
import { moveInto, newBookmark } from './actions.ts'
import { withContents } from './contents.ts'
import { type Bookmark, isFolder } from './kind.ts'
import { foldersAround } from './paths.ts'

interface MoveProps {
  sync: Sync
  ids: readonly string[]
  moved: () => void
  close: () => void
}

/** Asks for the destination folder. Calls `moved` when the bookmarks are moved and the dialog is closed. */
export function openMove(sync: Sync, ids: readonly string[], moved: () => void): void {
  showDialog((close) => <Move sync={sync} ids={ids} moved={moved} close={close} />)
}

function Move({ sync, ids, moved, close }: MoveProps) {
  const ended = useRef(() => {})
  const folder = useRef<FolderChoice>({ id: sync.get(ids[0] ?? '')?.parentId })
  const move = async () => {
    const { id, fresh } = folder.current
    await moveInto(sync, ids, id, fresh)
    ended.current = moved
    close()
  }
  const choose = () => void move().catch(tellFailure)
  return (
    <Dialog
      title={ids.length === 1 ? say.library.moveTo : say.library.moveCountTo(ids.length)}
      close={close}
      gone={ended}
    >
      <Form onSubmit={move}>
        <FolderField sync={sync} label={say.ui.folder} choice={folder} moving={ids} autofocus chosen={choose} />
        <FormEnd close={close}>{say.library.move}</FormEnd>
      </Form>
    </Dialog>
  )
}

/** The chosen destination folder. */
export interface FolderChoice {
  /** Undefined for the top level. */
  id: string | undefined
  /** The folder, if it is new and not stored yet. */
  fresh?: Bookmark | undefined
}

interface FolderFieldProps {
  sync: Sync
  label: string
  choice: MutableRefObject<FolderChoice>
  /** The ids to move. Neither they nor their contents can be the destination. */
  moving: readonly string[]
  autofocus?: boolean
  /** Called after a choice from the list. */
  chosen?: () => void
}

const maxShown = 50
const top: Option = { value: '', label: say.ui.topLevel }
/** The option that creates a folder. No id contains this character. */
const creation = '…'

/** A field to choose a folder by any part of its path, or to name a new one. */
export function FolderField({ sync, label, choice, moving, autofocus = false, chosen: ended }: FolderFieldProps) {
  const folders = useMemo(() => listFolders(sync, moving), [sync])
  const [{ id = '', fresh }, draw] = useState(choice.current)
  const chosen = fresh?.title ?? folders.find(({ value }) => value === id)?.label ?? top.label
  const [text, setText] = useState<string>()
  const name = text?.trim() ?? ''
  const words = fold(name).split(/\s+/).filter(Boolean)
  const rank = ({ title }: Folder) => (isSame(title, name) ? 0 : fold(title).startsWith(fold(name)) ? 1 : 2)
  const fitting = folders
    .filter(({ label }) => words.every((word) => fold(label).includes(word)))
    .sort((one, other) => (name === '' ? 0 : rank(one) - rank(other)))
  const isNew = name !== '' && !fitting.some((folder) => isSame(folder.label, name))
  const choose = ({ value }: Option) => {
    const fresh = value === creation ? newBookmark({ title: name }) : undefined
    choice.current = { id: fresh?.id ?? (value || undefined), fresh }
    draw(choice.current)
    setText(undefined)
  }
  /** Chooses the only folder that the text can mean. Returns the error if there is none, or more than one. */
  const settle = (): string | undefined => {
    if (name === '') setText(undefined)
    else {
      const exact = fitting.filter((folder) => isSame(folder.title, name) || isSame(folder.label, name))
      const [only, another] = exact.length > 0 ? exact : fitting
      if (another) return say.library.severalFolders(name)
      if (!only) return say.library.noFolder(name)
      choose(only)
    }
    return undefined
  }
  useCheck('folder', async () => settle())
  return (
    <Combobox
      label={label}
      name="folder"
      chosen={chosen}
      text={text}
      onText={setText}
      options={[
        ...fitting.slice(0, maxShown),
        ...(isNew ? [{ value: creation, label: say.library.createFolder(name) }] : []),
      ]}
      autofocus={autofocus}
      onChoose={(option) => {
        choose(option)
        ended?.()
      }}
      onLeave={settle}
    />
  )
}

interface Folder extends Option {
  title: string
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

function listFolders(sync: Sync, moving: readonly string[]): Folder[] {
  const excluded = new Set(withContents(sync, moving).map(({ id }) => id))
  const folders: Folder[] = []
  for (const bookmark of sync.bookmarks().values()) {
    if (!isFolder(bookmark) || excluded.has(bookmark.id)) continue
    const path = [...foldersAround(sync, bookmark), bookmark].map(({ title }) => title || say.ui.untitled)
    folders.push({ value: bookmark.id, label: path.join(' › '), title: path.at(-1) ?? '' })
  }
  folders.sort((one, other) => one.label.localeCompare(other.label))
  return [{ ...top, title: top.label }, ...folders]
}
