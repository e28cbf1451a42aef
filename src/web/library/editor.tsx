import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import type { App } from '../session/context.ts'
import { autosaveDraft, keepDraft, takeDraft } from '../session/draft.ts'
import { go, readRoute } from '../session/route.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { messageOf, tellFailure } from '../ui/failure.ts'
import { Field, Form, FormEnd, fieldsOf } from '../ui/form.tsx'
import { useLeaving } from '../ui/leaving.ts'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { say } from '../words/words.ts'
import { newBookmark, save } from './actions.ts'
import { guessTags } from './guess-tags.ts'
import { type Bookmark, hostOf, isBlank, isFolder, isSafe, nameOf, quoted } from './kind.ts'
import { addressIn, completeAddress, pageOf } from './links.ts'
import { type FolderChoice, FolderField } from './move.tsx'
import { pathText } from './paths.ts'
import { readTags, TagsField } from './tags.tsx'

/** The fields of a new bookmark that are filled in when its form opens. */
export type FirstEntries = Partial<Pick<Bookmark, 'title' | 'url' | 'parentId' | 'tags'>>

/** Opens a folder in this tab, and an address in a new one. If the address is not safe, opens the bookmark's form. */
export function openBookmark(sync: Sync, bookmark: Bookmark): void {
  const { id, url = '' } = bookmark
  if (isFolder(bookmark)) go('folder', id)
  else if (isSafe(url)) window.open(url, '_blank', 'noreferrer')
  else openEditor(sync, bookmark)
}

/** A dialog for an existing bookmark or folder. */
export function openEditor(sync: Sync, bookmark: Bookmark): void {
  showDialog((close) => <Editor sync={sync} bookmark={bookmark} opened={bookmark} close={close} />)
}

/** A dialog for a new bookmark, if the entries have a `url`, or for a new folder. */
export function openNew(sync: Sync, entries: FirstEntries, ended?: () => void): void {
  const bookmark = newBookmark(entries)
  const show = (close: () => void) => {
    const end = () => {
      close()
      ended?.()
    }
    return <Editor sync={sync} bookmark={bookmark} close={end} />
  }
  showDialog(show)
}

/** Shows the form of a new bookmark. */
export function addHere(sync: Sync, url = ''): void {
  openNew(sync, { url, ...defaultsForNew(sync) })
}

/** The fields of a bookmark that is added in the current view: its folder or its tag. */
export function defaultsForNew(sync: Sync): Pick<FirstEntries, 'parentId' | 'tags'> {
  const { view, rest } = readRoute(location.hash)
  if (view === 'tag') return { tags: [rest] }
  return view === 'folder' && sync.get(rest) ? { parentId: rest } : {}
}

/** Saves an address at once and shows its form. If a bookmark has the address already, shows that one. */
export async function capture(sync: Sync, url: string, entries: FirstEntries): Promise<void> {
  const entered = newBookmark({ ...entries, url })
  const bookmark = { ...entered, title: hostOf(entered) }
  const twin = findTwin(sync, url, bookmark.id)
  if (twin) {
    tell(twinText(sync, twin), { about: [twin.id] })
    return openEditor(sync, twin)
  }
  await save(sync, bookmark)
  openEditor(sync, sync.get(bookmark.id) ?? bookmark)
}

interface EditorProps {
  sync: Sync
  /** The initial contents of the form. */
  bookmark: Bookmark
  /** The bookmark's folder, if it is new and not stored yet. */
  fresh?: Bookmark | undefined
  /** The stored bookmark when the form opened; undefined if it is new. Other devices' later changes of other fields stay. */
  opened?: Bookmark | undefined
  /** True if the form continues entries that were not saved. */
  isDraft?: boolean
  close: () => void
}

type Draft = Pick<EditorProps, 'bookmark' | 'fresh' | 'opened'>

function Editor({ sync, bookmark, fresh, opened, isDraft = false, close }: EditorProps) {
  const isLink = !isFolder(bookmark)
  /** If the address is known, the form starts with the focus in the title. */
  const isKnown = opened !== undefined || Boolean(bookmark.url)
  const folder = useRef<FolderChoice>({ id: bookmark.parentId, fresh })
  const [tags, setTags] = useState<readonly string[]>(bookmark.tags ?? [])
  const [fault, setFault] = useState<string>()
  const [twin, setTwin] = useState<Bookmark>()
  const [address, setAddress] = useState(bookmark.url)
  const located = address === undefined ? bookmark : { ...bookmark, url: address }
  const guesses = useMemo(() => (isLink && !bookmark.tags ? guessTags(sync, located) : []), [hostOf(located)])
  const form = useRef<HTMLFormElement>(null)
  const isSent = useRef(false)
  const enteredFirst = useRef('')

  const entered = () => {
    const fields = fieldsOf(form.current as HTMLFormElement)
    return draftOf(bookmark, fields, readTags(fields), folder.current)
  }
  const draft = () => {
    const now = entered()
    const isUnsaved = !isSent.current && (isDraft || JSON.stringify(now) !== enteredFirst.current)
    return isUnsaved ? { ...now, opened } : undefined
  }
  useLayoutEffect(() => {
    enteredFirst.current = JSON.stringify(entered())
  }, [])
  useLeaving(() => {
    const unsaved = draft()
    if (unsaved) keepDraft(unsaved).catch(tellFailure)
  })
  const latest = useRef(draft)
  latest.current = draft
  useEffect(() => {
    const hold = () => autosaveDraft(latest.current())
    document.addEventListener('visibilitychange', hold)
    addEventListener('pagehide', hold)
    return () => {
      document.removeEventListener('visibilitychange', hold)
      removeEventListener('pagehide', hold)
      autosaveDraft(undefined)
    }
  }, [])
  // Runs whenever the form closes, also if another dialog replaces this one.
  useLayoutEffect(
    () => () => {
      const unsaved = latest.current()
      if (unsaved) offerDraft(sync, unsaved)
    },
    [],
  )

  const submit = async (fields: Record<string, string>) => {
    const { title = '', url: typedUrl = '' } = fields
    // An imported address may be incomplete. It stays unchanged unless the person edits it.
    const url = !isLink || typedUrl === opened?.url ? typedUrl : attempt(() => completeAddress(typedUrl), setFault)
    if (url === undefined) return
    const { bookmark: filled, fresh } = draftOf(bookmark, fields, readTags(fields), folder.current)
    const { position, ...rest } = filled
    const edited: Bookmark = {
      ...rest,
      title: isBlank(title) ? hostOf({ ...bookmark, url }) : title,
      dateModified: new Date(serviceNow()).toISOString(),
      ...(isLink && { url }),
      ...(rest.parentId === opened?.parentId && position !== undefined && { position }),
    }
    isSent.current = true
    try {
      await save(sync, edited, opened, fresh)
    } catch (error) {
      isSent.current = false
      throw error
    }
    close()
  }

  const lookFor = (text: string) => {
    setFault(undefined)
    setAddress(addressIn(text))
    setTwin(text === opened?.url ? undefined : findTwin(sync, text, bookmark.id))
  }

  return (
    <Dialog
      title={opened ? say.library.edit(nameOf(opened)) : isLink ? say.library.newBookmark : say.library.newFolder}
      close={close}
    >
      <Form onSubmit={submit} element={form}>
        {isLink && (
          <Field
            label={say.library.address}
            name="url"
            inputMode="url"
            autocomplete="off"
            defaultValue={bookmark.url ?? ''}
            required={opened?.url !== ''}
            autofocus={!isKnown}
            error={fault}
            hint={twin && <Twin sync={sync} twin={twin} close={close} />}
            onInput={({ currentTarget }) => lookFor(currentTarget.value)}
          />
        )}
        <Field
          label={say.library.title}
          name="title"
          autocomplete="off"
          defaultValue={bookmark.title}
          required={!isLink}
          autofocus={isKnown || !isLink}
        />
        <FolderField sync={sync} label={say.ui.folder} choice={folder} moving={[bookmark.id]} />
        {isLink && <TagsField sync={sync} label={say.library.tags} tags={tags} onChange={setTags} guesses={guesses} />}
        {isLink && (
          <Field
            label={say.library.description}
            name="description"
            autocomplete="off"
            rows={2}
            defaultValue={bookmark.description ?? ''}
          />
        )}
        <FormEnd close={close}>{say.ui.save}</FormEnd>
      </Form>
    </Dialog>
  )
}

/** The bookmark with the entered fields as they are. Saving completes the address and the title. */
function draftOf(
  bookmark: Bookmark,
  { title = '', url, description = '' }: Record<string, string>,
  labels: readonly string[],
  { id: parentId, fresh }: FolderChoice,
): { bookmark: Bookmark; fresh: Bookmark | undefined } {
  const { tags: _, parentId: __, description: ___, ...rest } = bookmark
  const draft: Bookmark = {
    ...rest,
    title,
    ...(url !== undefined && { url }),
    ...(labels.length > 0 && { tags: [...labels] }),
    ...(description !== '' && { description }),
    ...(parentId !== undefined && { parentId }),
  }
  return { bookmark: draft, fresh }
}

/** Offers to continue a form that was closed, perhaps by mistake. */
function offerDraft(sync: Sync, draft: Draft): void {
  tell(say.library.notSaved(quoted(draft.bookmark)), {
    undoName: say.library.continueEditing,
    undo: () => openDraft(sync, draft),
  })
}

function openDraft(sync: Sync, draft: Draft): void {
  showDialog((close) => <Editor sync={sync} {...draft} isDraft close={close} />)
}

/** Shows a form again that was closed because the session ended, or that was open when the page was reloaded. */
export function reopenDraft({ sync, userId, keys }: App): void {
  const draft = takeDraft(userId, keys)
  if (draft) openDraft(sync, draft as Draft)
}

/** Reports that another bookmark has this address already. */
function Twin({ sync, twin, close }: { sync: Sync; twin: Bookmark; close: () => void }) {
  const open = () => {
    close()
    openEditor(sync, twin)
  }
  return (
    <span class="bar" role="status">
      {twinText(sync, twin)}
      <Button onClick={open}>{say.library.openIt}</Button>
    </span>
  )
}

function twinText(sync: Sync, twin: Bookmark): string {
  const path = pathText(sync, twin)
  return path === '' ? say.library.haveAlready(quoted(twin)) : say.library.haveAlreadyIn(quoted(twin), path)
}

function findTwin(sync: Sync, typed: string, id: string): Bookmark | undefined {
  const address = pageOf(typed.trim())
  // A single word is not an address.
  if (address === undefined || !/[.:]/.test(address)) return undefined
  for (const bookmark of sync.bookmarks().values()) {
    if (bookmark.id !== id && pageOf(bookmark.url) === address) return bookmark
  }
  return undefined
}

function attempt<T>(work: () => T, failed: (message: string) => void): T | undefined {
  try {
    return work()
  } catch (error) {
    failed(messageOf(error))
    return undefined
  }
}

/** The form for a new bookmark; if the bookmarklet opened it, with the title and address of the page to save. */
export function AddPage({ rest }: { rest: string }) {
  const sync = useSync()
  useEffect(() => {
    const [title, url, isWindow] = readPage(rest)
    go('folder', '', { replace: true })
    openNew(sync, { title, url }, isWindow ? () => leaveWindow(sync) : undefined)
  }, [])
  return null
}

/** Reads the title and address. Anybody can link to this view, so they may be anything. */
function readPage(rest: string): [title: string, url: string, isWindow: boolean] {
  try {
    const [title, url, isWindow] = JSON.parse(rest) as unknown[]
    return [String(title ?? ''), String(url ?? ''), isWindow === true]
  } catch {
    return ['', '', false]
  }
}

/** Sends unsent edits, and then closes the window, which the bookmarklet opened only for this form. */
async function leaveWindow(sync: Sync): Promise<void> {
  // If this fails, the edits are sent when the page is opened in this browser again.
  await sync.syncNow().catch(() => {})
  window.close()
}
