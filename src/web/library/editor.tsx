import { useEffect, useRef, useState } from 'preact/hooks'
import type { PlaintextBookmark, Sync } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { go } from '../app/route.ts'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { messageOf } from '../ui/failure.ts'
import { Field, Form, FormEnd } from '../ui/form.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { newBookmark, save } from './actions.ts'
import { type Bookmark, hostOf, isBlank, isFolder, nameOf } from './kind.ts'
import { completeAddress } from './links.ts'
import { type FolderChoice, FolderField } from './move.tsx'
import { readTags, TagsField } from './tags.tsx'

/** The first entries of a new bookmark. */
type Draft = Partial<Pick<PlaintextBookmark, 'title' | 'url' | 'parentId'>>

/** A dialog for an existing bookmark or folder. */
export function openEditor(sync: Sync, bookmark: Bookmark): void {
  showDialog((close) => <Editor sync={sync} bookmark={bookmark} opened={bookmark} close={close} />)
}

/** A dialog for a new bookmark, if the draft has a `url`, or for a new folder. */
export function openNew(sync: Sync, draft: Draft): void {
  const bookmark = newBookmark(draft)
  showDialog((close) => <Editor sync={sync} bookmark={bookmark} close={close} />)
}

interface EditorProps {
  sync: Sync
  bookmark: Bookmark
  /** As it was when the form opened, if it is not new: what another tab or device changes meanwhile stays. */
  opened?: Bookmark
  close: () => void
}

function Editor({ sync, bookmark, opened, close }: EditorProps) {
  const isLink = !isFolder(bookmark)
  const folder = useRef<FolderChoice>({ id: bookmark.parentId })
  const [tags, setTags] = useState<readonly string[]>(bookmark.tags ?? [])
  const [fault, setFault] = useState<string>()
  const kind = isLink ? 'bookmark' : 'folder'

  const submit = async (fields: Record<string, string>) => {
    const { title = '', url: typed = '', description = '' } = fields
    // An imported address stays as it is, as long as nobody changes it.
    const url = !isLink || (opened && typed === bookmark.url) ? typed : attempt(() => completeAddress(typed), setFault)
    if (url === undefined) return
    const { tags: _, parentId: from, position, description: __, ...rest } = bookmark
    const labels = readTags(fields)
    const { id: parentId, fresh } = folder.current
    const edited: Bookmark = {
      ...rest,
      title: isBlank(title) ? hostOf({ ...bookmark, url }) : title,
      dateModified: new Date(serviceNow()).toISOString(),
      ...(isLink && { url }),
      ...(isLink && labels.length > 0 && { tags: labels }),
      ...(description !== '' && { description }),
      ...(parentId !== undefined && { parentId }),
      ...(parentId === from && position !== undefined && { position }),
    }
    await save(sync, edited, opened, fresh)
    close()
  }

  return (
    <Dialog title={opened ? `Edit ${nameOf(bookmark)}` : `New ${kind}`} close={close}>
      <Form onSubmit={submit}>
        {isLink && (
          <Field
            label="Address"
            name="url"
            inputMode="url"
            autocomplete="off"
            defaultValue={bookmark.url ?? ''}
            required={!opened || bookmark.url !== ''}
            autofocus={!opened}
            error={fault}
            onInput={() => setFault(undefined)}
          />
        )}
        <Field
          label="Title"
          name="title"
          autocomplete="off"
          defaultValue={bookmark.title}
          required={!isLink}
          autofocus={Boolean(opened) || !isLink}
        />
        <FolderField sync={sync} label="Folder" choice={folder} moving={[bookmark.id]} />
        {isLink && <TagsField sync={sync} label="Tags" tags={tags} onChange={setTags} />}
        {isLink && (
          <Field
            label="Description"
            name="description"
            autocomplete="off"
            rows={2}
            defaultValue={bookmark.description ?? ''}
          />
        )}
        <FormEnd close={close}>Save</FormEnd>
      </Form>
    </Dialog>
  )
}

function attempt<T>(work: () => T, failed: (message: string) => void): T | undefined {
  try {
    return work()
  } catch (error) {
    failed(messageOf(error))
    return undefined
  }
}

/** Where the bookmarklet leads: the form for a new bookmark, with the title and address of the page it was pressed on. */
export function AddPage({ rest }: { rest: string }) {
  const sync = useSync()
  useEffect(() => {
    const [title, url] = readPage(rest)
    go('folder', '', { replace: true })
    openNew(sync, { title, url })
  }, [])
  return null
}

/** Anybody can write a link to this view. */
function readPage(rest: string): [title: string, url: string] {
  try {
    const [title, url] = JSON.parse(rest) as unknown[]
    return [String(title ?? ''), String(url ?? '')]
  } catch {
    return ['', '']
  }
}
