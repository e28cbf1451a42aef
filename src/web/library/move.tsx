import { useMemo, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { Combobox, type Option } from '../ui/combobox.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { moveInto, withContents } from './actions.ts'
import { isFolder } from './kind.ts'
import { foldersAround } from './paths.ts'

interface MoveProps {
  sync: Sync
  ids: readonly string[]
  close: () => void
}

/** Asks into which folder the bookmarks go. */
export function openMove(sync: Sync, ids: readonly string[]): void {
  showDialog((close) => <Move sync={sync} ids={ids} close={close} />)
}

function Move({ sync, ids, close }: MoveProps) {
  const [folder, setFolder] = useState(sync.get(ids[0] ?? '')?.parentId)
  const move = async () => {
    await moveInto(sync, ids, folder)
    close()
  }
  return (
    <Dialog title={ids.length === 1 ? 'Move to…' : `Move ${ids.length} items to…`} close={close}>
      <Form onSubmit={move}>
        <FolderField sync={sync} label="Folder" value={folder} onChange={setFolder} moving={ids} autofocus />
        <FormEnd close={close}>Move</FormEnd>
      </Form>
    </Dialog>
  )
}

interface FolderFieldProps {
  sync: Sync
  label: string
  /** Undefined stands for the top level. */
  value: string | undefined
  onChange: (id: string | undefined) => void
  /** The ids that move: neither they nor what is in them can be the folder. */
  moving: readonly string[]
  autofocus?: boolean
}

const maxShown = 50
const top: Option = { value: '', label: 'Top level' }

/** Chooses a folder by typing any part of its path. */
export function FolderField({ sync, label, value, onChange, moving, autofocus = false }: FolderFieldProps) {
  const folders = useMemo(() => listFolders(sync, moving), [sync])
  const chosen = folders.find((folder) => folder.value === (value ?? '')) ?? top
  const [text, setText] = useState<string>()
  const words = (text ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const options = folders
    .filter((folder) => words.every((word) => folder.label.toLowerCase().includes(word)))
    .slice(0, maxShown)
  return (
    <Combobox
      label={label}
      text={text ?? chosen.label}
      onText={setText}
      options={options}
      autofocus={autofocus}
      onChoose={(option) => {
        setText(undefined)
        onChange(option.value === '' ? undefined : option.value)
      }}
    />
  )
}

function listFolders(sync: Sync, moving: readonly string[]): Option[] {
  const excluded = new Set(withContents(sync, moving).map(({ id }) => id))
  const folders: Option[] = []
  for (const bookmark of sync.bookmarks().values()) {
    if (!isFolder(bookmark) || excluded.has(bookmark.id)) continue
    const path = [...foldersAround(sync, bookmark), bookmark].map(({ title }) => title || 'untitled')
    folders.push({ value: bookmark.id, label: path.join(' › ') })
  }
  folders.sort((one, other) => one.label.localeCompare(other.label))
  return [top, ...folders]
}
