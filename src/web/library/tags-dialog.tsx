import { useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Form, FormEnd } from '../ui/form.tsx'
import { tell } from '../ui/tell.ts'
import { retag } from './actions.ts'
import { readTags, TagsField } from './tags-field.tsx'

interface TagsProps {
  sync: Sync
  ids: readonly string[]
  close: () => void
}

/** Asks for the tags that the bookmarks have in common. Tags that only some of them have stay. */
export function openTags(sync: Sync, selected: readonly string[]): void {
  const ids = selected.filter((id) => sync.get(id)?.url !== undefined)
  if (ids.length === 0) tell('Folders have no tags')
  else showDialog((close) => <Tags sync={sync} ids={ids} close={close} />)
}

function Tags({ sync, ids, close }: TagsProps) {
  const [common] = useState(() => commonTags(sync, ids))
  const [tags, setTags] = useState<readonly string[]>(common)
  const submit = async (fields: Record<string, string>) => {
    const wanted = readTags(fields)
    const taken = common.filter((tag) => !wanted.includes(tag))
    await retag(sync, ids, wanted, taken)
    close()
  }
  return (
    <Dialog title={ids.length === 1 ? 'Tags' : `Tags of ${ids.length} bookmarks`} close={close}>
      <Form onSubmit={submit}>
        <TagsField sync={sync} label="Tags" tags={tags} onChange={setTags} autofocus />
        <FormEnd close={close}>Save</FormEnd>
      </Form>
    </Dialog>
  )
}

function commonTags(sync: Sync, ids: readonly string[]): string[] {
  const [first = [], ...others] = ids.flatMap((id) => {
    const bookmark = sync.get(id)
    return bookmark?.url === undefined ? [] : [bookmark.tags ?? []]
  })
  return first.filter((tag) => others.every((tags) => tags.includes(tag)))
}
