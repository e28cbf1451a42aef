import { useMemo, useState } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { Combobox } from '../ui/combobox.tsx'
import { Icon } from '../ui/icon.tsx'
import { CloseIcon } from '../ui/icons.ts'
import { countTags } from './tags.ts'

interface TagsFieldProps {
  sync: SyncReader
  label: string
  tags: readonly string[]
  onChange: (tags: readonly string[]) => void
  autofocus?: boolean
}

const maxShown = 8

/** Tags as chips, with those that exist already to complete what is typed. A comma or Enter ends a tag. */
export function TagsField({ sync, label, tags, onChange, autofocus = false }: TagsFieldProps) {
  const known = useMemo(() => countTags(sync), [sync])
  const [text, setText] = useState('')
  const typed = text.trim().toLowerCase()
  const rank = (tag: string) => (known.get(tag) ?? 0) + (tag.toLowerCase().startsWith(typed) ? 1e6 : 0)
  const options = [...known.keys()]
    .filter((tag) => !tags.includes(tag) && (typed === '' || tag.toLowerCase().includes(typed)))
    .sort((one, other) => rank(other) - rank(one))
    .slice(0, maxShown)
    .map((tag) => ({ value: tag, label: tag }))
  const add = (words: readonly string[]) => {
    onChange([...new Set([...tags, ...words.map((word) => word.trim()).filter(Boolean)])])
    setText('')
  }
  return (
    <>
      <Combobox
        label={label}
        text={text}
        onText={(next) => (next.includes(',') ? add(next.split(',')) : setText(next))}
        options={options}
        onChoose={({ value }) => add([value])}
        onEnter={() => {
          if (typed === '') return false
          add([text])
          return true
        }}
        onKeyDown={({ key }) => key === 'Backspace' && text === '' && onChange(tags.slice(0, -1))}
        placeholder={tags.length === 0 ? 'Type a tag, then Enter' : ''}
        autofocus={autofocus}
      >
        {tags.map((tag) => (
          <button
            key={tag}
            type="button"
            class="tag removable"
            aria-label={`Remove tag ${tag}`}
            onClick={() => onChange(tags.filter((other) => other !== tag))}
          >
            {tag}
            <Icon of={CloseIcon} />
          </button>
        ))}
      </Combobox>
      {/* What was typed and not ended counts, too. */}
      <input type="hidden" name="tags" value={JSON.stringify(typed === '' ? tags : [...tags, text.trim()])} />
    </>
  )
}

/** The tags of a form with a `TagsField`. */
export function readTags({ tags = '[]' }: Record<string, string>): string[] {
  return [...new Set(JSON.parse(tags) as string[])]
}
