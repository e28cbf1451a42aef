import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { say } from '../words/words.ts'
import { FieldFaultsContext } from './form.tsx'

export interface Option {
  value: string
  label: string
}

interface ComboboxProps {
  label: string
  /** The name of the field, by which a `FieldFault` finds it. */
  name: string
  /** The text of the chosen option, shown until something is typed. */
  chosen?: string
  /** The typed text; undefined if nothing is typed. */
  text: string | undefined
  onText: (text: string) => void
  /** The options that match the text, best first. After typing, the first is marked, so that Enter takes it. */
  options: readonly Option[]
  onChoose: (option: Option) => void
  /** Called when the field loses the focus. */
  onLeave?: () => void
  onKeyDown?: (event: TargetedKeyboardEvent<HTMLInputElement>) => void
  placeholder?: string
  autofocus?: boolean
  /** Shown before the input, inside its frame. */
  children?: ComponentChildren
}

/** An input with suggestions: the editable combobox of the ARIA practices. */
export function Combobox(props: ComboboxProps) {
  const { label, name, chosen, text, onText, options, onChoose, onLeave, onKeyDown, placeholder, autofocus, children } =
    props
  const id = useId()
  const field = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [marked, setMarked] = useState(-1)
  const { faults, forget } = useContext(FieldFaultsContext)
  const fault = faults[name]
  const isShown = isOpen && options.length > 0
  useLayoutEffect(() => {
    list.current?.togglePopover(isShown)
    if (!isShown) return
    place(list.current, field.current)
    // The focus stays in the input, so the browser does not scroll to the marked option by itself.
    document.getElementById(`${id}-${marked}`)?.scrollIntoView({ block: 'nearest' })
  })
  useEffect(() => {
    if (!isShown) return
    const follow = () => place(list.current, field.current)
    addEventListener('resize', follow)
    addEventListener('scroll', follow, true)
    return () => {
      removeEventListener('resize', follow)
      removeEventListener('scroll', follow, true)
    }
  }, [isShown])
  const close = () => {
    setOpen(false)
    setMarked(-1)
  }
  const choose = (option: Option) => {
    if (fault !== undefined) forget(name)
    onChoose(option)
    close()
  }
  const press = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = steps[event.key]
    const option = isShown ? options[marked] : undefined
    if (step !== undefined) {
      setOpen(true)
      setMarked(Math.max(-1, Math.min(options.length - 1, marked + step)))
    } else if (event.key === 'Enter' && option) choose(option)
    else if (event.key === 'Escape' && isShown) close()
    else return onKeyDown?.(event)
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div class="field combobox" ref={field}>
      <label for={id}>{label}</label>
      <div class="combobox-frame">
        {children}
        <input
          id={id}
          name={name}
          role="combobox"
          dir="auto"
          autocomplete="off"
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isShown && marked >= 0 ? `${id}-${marked}` : undefined}
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}-error`}
          placeholder={placeholder}
          autofocus={autofocus}
          value={text ?? chosen}
          onInput={({ currentTarget: { value } }) => {
            if (fault !== undefined) forget(name)
            onText(value)
            setOpen(true)
            setMarked(value === '' ? -1 : 0)
          }}
          onMouseDown={(event) => {
            setOpen(true)
            if (text !== undefined || document.activeElement === event.currentTarget) return
            // Prevents the default, which would place the caret and so end the selection of the text.
            event.preventDefault()
            event.currentTarget.focus()
          }}
          onFocus={(event) => {
            setOpen(true)
            if (text === undefined) event.currentTarget.select()
          }}
          onBlur={() => {
            close()
            onLeave?.()
          }}
          onKeyDown={press}
        />
      </div>
      <p class="failure" id={`${id}-error`} role={fault === undefined ? undefined : 'alert'}>
        {fault}
      </p>
      <div
        ref={list}
        class="combobox-list"
        id={`${id}-list`}
        popover="manual"
        role="listbox"
        // Otherwise Tab would focus the scrollable list, which closes it.
        tabIndex={-1}
        // Keeps the focus in the input.
        onMouseDown={(event) => event.preventDefault()}
        aria-label={say.ui.suggestions}
      >
        {(isShown ? options : []).map((option, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: The focus stays in the input, which names the marked option.
          // biome-ignore lint/a11y/useKeyWithClickEvents: The input handles the keys.
          <div
            key={option.value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === marked}
            onClick={() => choose(option)}
          >
            {option.label}
          </div>
        ))}
      </div>
    </div>
  )
}

const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }

/** The least height of the list (px), enough for two options. */
const leastHeight = 88
const gap = 4

/**
 * Places the list over the page next to its field, so that nothing moves when it opens. It goes below the field, or
 * above it if there is not enough room, and if possible does not cover the form's buttons.
 */
function place(list: HTMLElement | null, field: HTMLElement | null): void {
  if (!list || !field) return
  const { top, bottom, left, width } = field.getBoundingClientRect()
  const end = field.closest('form')?.querySelector('[data-form-end]')?.getBoundingClientRect().top ?? innerHeight
  const below = Math.min(end, innerHeight) - bottom - 2 * gap
  const isBelow = below >= Math.min(leastHeight, list.scrollHeight) || below >= top
  Object.assign(list.style, {
    left: `${left}px`,
    width: `${width}px`,
    maxHeight: `min(16rem, ${Math.max(leastHeight, isBelow ? below : top - 2 * gap)}px)`,
    top: isBelow ? `${bottom + gap}px` : 'auto',
    bottom: isBelow ? 'auto' : `${innerHeight - top + gap}px`,
  })
}
