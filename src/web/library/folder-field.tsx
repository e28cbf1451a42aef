import { useMemo, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { Combobox, type Option } from '../ui/combobox.tsx'
import { withContents } from './actions.ts'
import { isFolder } from './kind.ts'
import { foldersAround } from './paths.ts'

interface FolderFieldProps {
  sync: Sync
  label: string
  /** Undefined stands for the top level. */
  value: string | undefined
  onChange: (id: string | undefined) => void
  /** What moves: neither it nor what is in it can be the folder. */
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
