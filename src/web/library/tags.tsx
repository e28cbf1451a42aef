import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Sync, SyncReader } from '../../client/index.ts'
import { fold } from '../../client/sync/search/fold.ts'
import { Combobox } from '../ui/combobox.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Form, FormEnd, fieldsOf } from '../ui/form.tsx'
import { CloseIcon, Icon } from '../ui/icons.tsx'
import { tell } from '../ui/tell.ts'
import { say } from '../words/words.ts'
import { retag } from './actions.ts'
import { spelled, tagName } from './tag-names.ts'

interface TagsProps {
  sync: Sync
  ids: readonly string[]
  /** Tags from a form that was closed without saving. */
  entered?: readonly string[]
  close: () => void
}

/** Asks for the tags that the bookmarks have in common. Tags that only some of them have stay. */
export function openTags(sync: Sync, selected: readonly string[]): void {
  const ids = selected.filter((id) => sync.get(id)?.url !== undefined)
  if (ids.length === 0) tell(say.library.noTagsOnFolders)
  else showDialog((close) => <Tags sync={sync} ids={ids} close={close} />)
}

function Tags({ sync, ids, entered, close }: TagsProps) {
  const [common] = useState(() => commonTags(sync, ids))
  const [tags, setTags] = useState<readonly string[]>(entered ?? common)
  const form = useRef<HTMLFormElement>(null)
  const isSaved = useRef(false)
  useLayoutEffect(
    () => () => {
      const entered = readTags(fieldsOf(form.current as HTMLFormElement))
      if (isSaved.current || `${entered}` === `${common}`) return
      const undo = () => showDialog((close) => <Tags sync={sync} ids={ids} entered={entered} close={close} />)
      tell(say.library.tagsNotSaved, { undoName: say.library.continueEditing, undo })
    },
    [],
  )
  const submit = async (fields: Record<string, string>) => {
    const wanted = new Set(readTags(fields))
    const taken = common.filter((tag) => !wanted.has(tag))
    await retag(sync, ids, [...wanted], taken)
    isSaved.current = true
    close()
  }
  return (
    <Dialog title={ids.length === 1 ? say.library.tags : say.library.tagsOf(ids.length)} close={close}>
      <Form onSubmit={submit} element={form}>
        <TagsField sync={sync} label={say.library.tags} tags={tags} onChange={setTags} autofocus />
        <FormEnd close={close}>{say.ui.save}</FormEnd>
      </Form>
    </Dialog>
  )
}

function commonTags(sync: Sync, ids: readonly string[]): string[] {
  const [first = new Set<string>(), ...others] = ids.flatMap((id) => {
    const bookmark = sync.get(id)
    return bookmark?.url === undefined ? [] : [new Set<string>(bookmark.tags)]
  })
  return [...first].filter((tag) => others.every((tags) => tags.has(tag)))
}

interface TagsFieldProps {
  sync: SyncReader
  label: string
  tags: readonly string[]
  onChange: (tags: readonly string[]) => void
  /** Suggested tags, each added by one click. */
  guesses?: readonly string[]
  autofocus?: boolean
}

const maxShown = 8

/** Tags as chips, with completion of existing ones. A comma or Enter ends a tag. */
export function TagsField({ sync, label, tags, onChange, guesses = [], autofocus = false }: TagsFieldProps) {
  const [text, setText] = useState('')
  const known = useMemo(() => countTags(sync), [sync])
  const spell = (word: string) => spelled(word, [...tags, ...known.keys()])
  const typed = tagName(text)
  const rank = (tag: string) => (known.get(tag) ?? 0) + (fold(tag).startsWith(fold(typed)) ? 1e6 : 0)
  const chosen = new Set(tags)
  const fitting = [...known.keys()]
    .filter((tag) => !chosen.has(tag) && (typed === '' || fold(tag).includes(fold(typed))))
    .sort((one, other) => rank(other) - rank(one))
  // The typed text comes first, known or new, so that Enter takes it and not a tag that only begins with it.
  const first = spell(text)
  const options = [first, ...fitting.filter((tag) => tag !== first)]
    .filter(Boolean)
    .slice(0, maxShown)
    .map((tag) => ({ value: tag, label: known.has(tag) ? tag : say.library.newTag(tag) }))
  const add = (words: readonly string[]) => {
    onChange([...new Set([...tags, ...words.map(spell).filter(Boolean)])])
    setText('')
  }
  return (
    <>
      <Combobox
        label={label}
        name="tag"
        text={text}
        onText={(next) => (next.includes(',') ? add(next.split(',')) : setText(next))}
        options={options}
        onChoose={({ value }) => add([value])}
        onKeyDown={({ key, repeat }) => key === 'Backspace' && !repeat && text === '' && onChange(tags.slice(0, -1))}
        placeholder={tags.length === 0 ? say.library.typeTag : ''}
        autofocus={autofocus}
      >
        {tags.map((tag) => (
          <button
            key={tag}
            type="button"
            class="tag removable"
            aria-label={say.library.removeTag(tag)}
            onClick={() => onChange(tags.filter((other) => other !== tag))}
          >
            {tag}
            <Icon of={CloseIcon} />
          </button>
        ))}
      </Combobox>
      {guesses.some((tag) => !chosen.has(tag)) && (
        <div class="bar">
          {guesses.map(
            (tag) =>
              !chosen.has(tag) && (
                <button
                  key={tag}
                  type="button"
                  class="tag"
                  aria-label={say.library.addTag(tag)}
                  onClick={() => add([tag])}
                >
                  + {tag}
                </button>
              ),
          )}
        </div>
      )}
      {/* A typed tag counts, too, if no comma or Enter has ended it. */}
      <input type="hidden" name="tags" value={JSON.stringify(typed === '' ? tags : [...tags, spell(text)])} />
    </>
  )
}

/** The tags of a form with a `TagsField`. */
export function readTags({ tags = '[]' }: Record<string, string>): string[] {
  return [...new Set(JSON.parse(tags) as string[])]
}

/** How many bookmarks have each tag. */
export function countTags(sync: Pick<SyncReader, 'bookmarks'>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { tags } of sync.bookmarks().values()) {
    // Other clients may have written values of any type.
    if (!Array.isArray(tags)) continue
    for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  }
  return counts
}
