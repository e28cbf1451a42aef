import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useId, useLayoutEffect, useState } from 'preact/hooks'

export interface Option {
  value: string
  label: string
}

interface ComboboxProps {
  label: string
  /** The text that is typed. */
  text: string
  onText: (text: string) => void
  /** Suggestions that fit the text, best first. */
  options: readonly Option[]
  onChoose: (option: Option) => void
  /** Runs on Enter if no option is marked; false leaves Enter to the form. */
  onEnter?: () => boolean
  onKeyDown?: (event: TargetedKeyboardEvent<HTMLInputElement>) => void
  placeholder?: string
  autofocus?: boolean
  /** Stands before the input, inside its frame. */
  children?: ComponentChildren
}

/** An input that offers what fits, as the ARIA practices describe an editable combobox. */
export function Combobox(props: ComboboxProps) {
  const { label, text, onText, options, onChoose, onEnter, onKeyDown, placeholder, autofocus, children } = props
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [marked, setMarked] = useState(-1)
  const isShown = isOpen && options.length > 0
  // The focus stays in the input, so the browser does not scroll.
  useLayoutEffect(() => {
    if (isShown) document.getElementById(`${id}-${marked}`)?.scrollIntoView({ block: 'nearest' })
  }, [isShown, marked])
  const choose = (option: Option) => {
    onChoose(option)
    setOpen(false)
    setMarked(-1)
  }
  const press = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = steps[event.key]
    const option = isShown ? options[marked] : undefined
    if (step !== undefined) {
      setOpen(true)
      setMarked(Math.max(-1, Math.min(options.length - 1, marked + step)))
    } else if (event.key === 'Enter' && option) choose(option)
    else if (event.key === 'Escape' && isShown) setOpen(false)
    else if (event.key !== 'Enter' || !onEnter?.()) return onKeyDown?.(event)
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div class="field combobox">
      <label for={id}>{label}</label>
      <div class="combobox-frame">
        {children}
        <input
          id={id}
          role="combobox"
          autocomplete="off"
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isShown && marked >= 0 ? `${id}-${marked}` : undefined}
          placeholder={placeholder}
          autofocus={autofocus}
          value={text}
          onInput={(event) => {
            onText(event.currentTarget.value)
            setOpen(true)
            setMarked(event.currentTarget.value === '' ? -1 : 0)
          }}
          onFocus={() => setOpen(text === '')}
          onBlur={() => setOpen(false)}
          onKeyDown={press}
        />
      </div>
      <div class="combobox-list" id={`${id}-list`} role="listbox" aria-label="Suggestions" hidden={!isShown}>
        {options.map((option, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: The focus stays in the input, which names the marked option.
          <div
            key={option.value}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === marked}
            // Before the input loses the focus.
            onPointerDown={(event) => {
              event.preventDefault()
              choose(option)
            }}
          >
            {option.label}
          </div>
        ))}
      </div>
    </div>
  )
}

const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
