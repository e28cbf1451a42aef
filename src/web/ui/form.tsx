import {
  type ComponentChildren,
  createContext,
  type InputHTMLAttributes,
  type RefObject,
  type TargetedInputEvent,
  type TargetedSubmitEvent,
  type TextareaHTMLAttributes,
} from 'preact'
import { useContext, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { say } from '../words/words.ts'
import { Button } from './button.tsx'
import { messageOf, ShowFailure, ToldError, useFailure } from './failure.ts'
import { useLong } from './waiting.tsx'

interface FormProps {
  /**
   * Gets the fields by name. While its promise is pending, nothing can be sent again. A failure is shown in the form, a
   * FieldFault at its field.
   */
  onSubmit: (fields: Record<string, string>) => unknown
  /** Gets the form's element. */
  element?: RefObject<HTMLFormElement | null>
  children: ComponentChildren
  class?: string
}

export function Form({ onSubmit, element, children, class: name }: FormProps) {
  const [failure, setFailure] = useState<string>()
  const showFailure = useFailure(setFailure)
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({})
  const [isBusy, setBusy] = useState(false)
  const isPending = useRef(false)
  const isLong = useLong(isBusy)
  const checks = useMemo(() => new Map<string, Check>(), [])
  const forget = (field: string) => setFaults(({ [field]: _, ...others }) => others)
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isPending.current) return
    const form = event.currentTarget
    const fields = fieldsOf(form)
    isPending.current = true
    setFailure(undefined)
    setFaults({})
    setBusy(true)
    try {
      for (const [field, check] of checks) {
        const fault = await check(fields[field] ?? '')
        if (fault !== undefined) throw new FieldFault(field, fault)
      }
      await onSubmit(fields)
    } catch (error) {
      if (error instanceof FieldFault) {
        setFaults({ [error.field]: messageOf(error) })
        ;(form.elements.namedItem(error.field) as HTMLElement).focus()
      } else showFailure(error)
    } finally {
      isPending.current = false
      setBusy(false)
    }
  }
  return (
    <ShowFailure.Provider value={showFailure}>
      <FieldFaultsContext.Provider value={{ faults, forget, checks }}>
        <form ref={element ?? null} class={name ? `form ${name}` : 'form'} onSubmit={submit} aria-busy={isBusy}>
          {children}
          {isLong && (
            <p class="hint" role="status">
              {say.ui.slowForm}
            </p>
          )}
          {failure && (
            <p class="failure" role="alert">
              {failure}
            </p>
          )}
        </form>
      </FieldFaultsContext.Provider>
    </ShowFailure.Provider>
  )
}

/** The entered texts, by the names of the fields. */
export function fieldsOf(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
}

/** The end of a dialog's form: what closes it, and what sends it. */
export function FormEnd({ close, children }: { close: () => void; children: ComponentChildren }) {
  return (
    <div class="bar end" data-form-end>
      <Button onClick={close}>{say.ui.cancel}</Button>
      <Submit>{children}</Submit>
    </div>
  )
}

/** The button that sends the form. */
export function Submit({ children }: { children: ComponentChildren }) {
  return (
    <button type="submit" class="button primary">
      <span>{children}</span>
    </button>
  )
}

interface FieldProps {
  label: string
  name: string
  /** `password` hides what is typed. */
  type?: 'text' | 'password' | 'datetime-local'
  /** Its text at first. */
  defaultValue?: string
  required?: boolean
  minLength?: number
  maxLength?: number
  autofocus?: boolean
  autocomplete?: 'off' | 'current-password' | 'new-password'
  inputMode?: 'url'
  /** Keyboards must not change what is typed, also where it is shown. */
  isSecret?: boolean
  /** For text of several lines. */
  rows?: number
  onInput?: (event: TargetedInputEvent<HTMLInputElement>) => void
  onFocus?: () => void
  /** Says what to enter, if the label does not. */
  hint?: ComponentChildren
  /** The fault of the entry. */
  error?: string | undefined
}

/** An input with its label above it, its hint and its error below it. */
export function Field({ label, hint, error: own, rows, onInput, isSecret, ...input }: FieldProps) {
  const id = useId()
  const { faults, forget } = useContext(FieldFaultsContext)
  const error = own ?? faults[input.name]
  const change = (event: TargetedInputEvent<HTMLInputElement>) => {
    if (faults[input.name] !== undefined) forget(input.name)
    onInput?.(event)
  }
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  // A person who comes to a text that is there replaces it by typing, and moves the caret otherwise.
  useLayoutEffect(() => {
    if (input.autofocus) field.current?.select()
  }, [])
  const described = { 'aria-invalid': error !== undefined, 'aria-describedby': `${id}-hint ${id}-error` }
  // Preact's type of an input knows one type at a time.
  const exact = isSecret && { autocapitalize: 'none', autocorrect: 'off', spellcheck: false }
  const common: unknown = { id, ref: field, dir: 'auto', ...input, ...exact, ...described, onInput: change }
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

/** One field's entry cannot be used. The form shows it there, with the focus. */
export class FieldFault extends ToldError {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** Resolves with the fault of the entry, or undefined. */
type Check = (value: string) => Promise<string | undefined>

interface FieldFaults {
  /** Keyed by the names of the fields. */
  faults: Readonly<Record<string, string>>
  /** The field is being corrected. */
  forget(field: string): void
  /** Run before the form is sent. */
  checks: Map<string, Check>
}

/** Belongs to the form around a field. */
export const FieldFaultsContext = createContext<FieldFaults>({ faults: {}, forget() {}, checks: new Map() })

/** Lets the form look at a field before it is sent. */
export function useCheck(field: string, check: Check): void {
  const { checks } = useContext(FieldFaultsContext)
  useLayoutEffect(() => {
    checks.set(field, check)
    return () => void checks.delete(field)
  })
}
