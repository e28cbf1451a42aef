import { useMemo, useRef, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { fold } from '../../client/sync/search/fold.ts'
import { Combobox } from '../ui/combobox.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Field, FieldFault, Form, FormEnd } from '../ui/form.tsx'
import { EditIcon, MergeIcon, MoreIcon, TrashIcon } from '../ui/icons.tsx'
import { Menu } from '../ui/menu.tsx'
import { say } from '../words/words.ts'
import { deleteTag, renameTag } from './actions.ts'
import { spelled } from './tag-names.ts'
import { countTags } from './tags.tsx'

interface TagMenuProps {
  tag: string
  label: string
  isShortcut?: boolean
}

/** A menu to rename, merge or delete a tag in all bookmarks that have it. */
export function TagMenu({ tag, label, isShortcut }: TagMenuProps) {
  const sync = useSync()
  const ask = (Question: typeof Rename) => showDialog((close) => <Question sync={sync} tag={tag} close={close} />)
  return (
    <Menu
      label={label}
      icon={MoreIcon}
      isShortcut={isShortcut}
      items={[
        { label: say.library.renameTag, icon: EditIcon, action: () => ask(Rename) },
        { label: say.library.mergeTag, icon: MergeIcon, action: () => ask(Merge) },
        { label: say.library.deleteTag, icon: TrashIcon, action: () => deleteTag(sync, tag).then(focusMain) },
      ]}
    />
  )
}

/** Focuses the main part of the page, because the menu that had the focus has disappeared with its tag. */
function focusMain(): void {
  document.querySelector<HTMLElement>('#main')?.focus()
}

interface QuestionProps {
  sync: Sync
  tag: string
  close: () => void
}

function Rename({ sync, tag, close }: QuestionProps) {
  const gone = useRef(() => {})
  const others = useOthers(sync, tag)
  const [text, setText] = useState(tag)
  const name = spelled(text, others)
  const rename = async () => {
    if (name === '') throw new FieldFault('tag', say.library.nameMissing)
    await renameTag(sync, tag, name)
    gone.current = focusMain
    close()
  }
  return (
    <Dialog title={say.library.renameTagTitle(tag)} close={close} gone={gone}>
      <Form onSubmit={rename}>
        <Field
          label={say.library.newName}
          name="tag"
          autocomplete="off"
          defaultValue={tag}
          autofocus
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          hint={<span role="status">{others.includes(name) && say.library.tagExists(name)}</span>}
        />
        <FormEnd close={close}>{say.library.rename}</FormEnd>
      </Form>
    </Dialog>
  )
}

const maxShown = 8

function Merge({ sync, tag, close }: QuestionProps) {
  const gone = useRef(() => {})
  const others = useOthers(sync, tag)
  const [text, setText] = useState('')
  const merge = async () => {
    const name = spelled(text, others)
    if (!others.includes(name)) throw new FieldFault('tag', say.library.noSuchTag)
    await renameTag(sync, tag, name)
    gone.current = focusMain
    close()
  }
  return (
    <Dialog title={say.library.mergeTagTitle(tag)} close={close} gone={gone}>
      <Form onSubmit={merge}>
        <Combobox
          label={say.library.otherTag}
          name="tag"
          text={text}
          onText={setText}
          options={others
            .filter((one) => fold(one).includes(fold(text.trim())))
            .slice(0, maxShown)
            .map((one) => ({ value: one, label: one }))}
          onChoose={({ value }) => setText(value)}
          autofocus
        />
        <FormEnd close={close}>{say.library.merge}</FormEnd>
      </Form>
    </Dialog>
  )
}

/** The other tags, the most used first. */
function useOthers(sync: Sync, tag: string): readonly string[] {
  return useMemo(() => {
    const counts = [...countTags(sync)].filter(([other]) => other !== tag)
    return counts.sort(([, ones], [, others]) => others - ones).map(([other]) => other)
  }, [])
}
