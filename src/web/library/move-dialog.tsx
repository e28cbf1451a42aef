import { useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { moveInto } from './actions.ts'
import { FolderField } from './folder-field.tsx'

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
