import type { ComponentChildren, InputHTMLAttributes, TargetedInputEvent, TextareaHTMLAttributes } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { FieldFaultsContext } from './field-fault.ts'

interface FieldProps {
  label: string
  name: string
  /** `password` hides what is typed. */
  type?: 'text' | 'password' | 'datetime-local'
  /** What is in it at first. */
  defaultValue?: string
  required?: boolean
  minLength?: number
  autofocus?: boolean
  autocomplete?: 'off' | 'current-password' | 'new-password'
  inputMode?: 'url'
  /** For text of several lines. */
  rows?: number
  onInput?: (event: TargetedInputEvent<HTMLInputElement>) => void
  onFocus?: () => void
  /** What to enter, if the label does not say it. */
  hint?: ComponentChildren
  /** What is wrong with what was entered. */
  error?: string | undefined
}

/** An input with its label above it, its hint and its error below it. */
export function Field({ label, hint, error: own, rows, onInput, ...input }: FieldProps) {
  const id = useId()
  const { faults, forget } = useContext(FieldFaultsContext)
  const error = own ?? faults[input.name]
  const change = (event: TargetedInputEvent<HTMLInputElement>) => {
    if (faults[input.name] !== undefined) forget(input.name)
    onInput?.(event)
  }
  const described = { 'aria-invalid': error !== undefined, 'aria-describedby': `${id}-hint ${id}-error` }
  // Preact's type of an input knows one type at a time.
  const common: unknown = { id, ...input, ...described, onInput: change }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input {...(common as InputHTMLAttributes<HTMLInputElement>)} />
      ) : (
        <textarea {...(common as TextareaHTMLAttributes<HTMLTextAreaElement>)} rows={rows} />
      )}
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <p class="failure" id={`${id}-error`} role={error === undefined ? undefined : 'alert'}>
        {error}
      </p>
    </div>
  )
}
