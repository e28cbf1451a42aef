import type { ComponentChildren, InputHTMLAttributes, TargetedInputEvent } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  label: string
  name: string
  /** `password` hides what is typed. */
  type?: 'text' | 'password'
  /** What is in it at first. */
  defaultValue?: string
  required?: boolean
  minLength?: number
  autofocus?: boolean
  autocomplete?: 'off' | 'current-password' | 'new-password'
  inputMode?: 'url'
  onInput?: (event: TargetedInputEvent<HTMLInputElement>) => void
  /** What to enter, if the label does not say it. */
  hint?: ComponentChildren
  /** What is wrong with what was entered. */
  error?: string | undefined
}

/** An input with its label above it, its hint and its error below it. */
export function Field({ label, hint, error, ...input }: FieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...(input as InputHTMLAttributes<HTMLInputElement>)}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-hint ${id}-error`}
      />
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <p class="failure" id={`${id}-error`} role={error === undefined ? undefined : 'alert'}>
        {error}
      </p>
    </div>
  )
}
