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
import { messageOf, ShowFailure, UserFacingError, useFailure } from './failure.ts'
import { useLong } from './waiting.tsx'

interface FormProps {
  /** Receives the fields by name. The form cannot be sent again while the promise is pending, and shows a failure. */
  onSubmit: (fields: Record<string, string>) => unknown
  /** Receives the form's element. */
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

/** The entered texts by field name. */
export function fieldsOf(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
}

/** The buttons of a dialog's form: cancel and submit. */
export function FormEnd({ close, children }: { close: () => void; children: ComponentChildren }) {
  return (
    <div class="bar end" data-form-end>
      <Button onClick={close}>{say.ui.cancel}</Button>
      <Submit>{children}</Submit>
    </div>
  )
}

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
  /** `password` hides the typed text. */
  type?: 'text' | 'password' | 'datetime-local'
  defaultValue?: string
  required?: boolean
  minLength?: number
  maxLength?: number
  autofocus?: boolean
  autocomplete?: 'off' | 'current-password' | 'new-password'
  inputMode?: 'url'
  /** Turns off automatic corrections, also while the text is visible. */
  isSecret?: boolean
  /** The number of lines of a multi-line field. */
  rows?: number
  onInput?: (event: TargetedInputEvent<HTMLInputElement>) => void
  onFocus?: () => void
  /** Explains what to enter, if the label does not. */
  hint?: ComponentChildren
  /** The error about the entry. */
  error?: string | undefined
}

/** An input with a label above, and a hint and an error below. */
export function Field({ label, hint, error: own, rows, onInput, isSecret, ...input }: FieldProps) {
  const id = useId()
  const { faults, forget } = useContext(FieldFaultsContext)
  const error = own ?? faults[input.name]
  const change = (event: TargetedInputEvent<HTMLInputElement>) => {
    if (faults[input.name] !== undefined) forget(input.name)
    onInput?.(event)
  }
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  // Selects existing text, as Tab does when it moves the focus here. `autofocus` does not.
  useLayoutEffect(() => {
    if (input.autofocus) field.current?.select()
  }, [])
  const described = { 'aria-invalid': error !== undefined, 'aria-describedby': `${id}-hint ${id}-error` }
  const exact = isSecret && { autocapitalize: 'none', autocorrect: 'off', spellcheck: false }
  // `unknown`, because Preact's types of inputs and textareas differ.
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

/** An error about one field. The form shows the error there and focuses the field. */
export class FieldFault extends UserFacingError {
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** Resolves with the error about the entered value; undefined if there is none. */
type Check = (value: string) => Promise<string | undefined>

interface FieldFaults {
  /** The errors to show, by field name. */
  faults: Readonly<Record<string, string>>
  /** Hides the error of a field. Called when the field is edited. */
  forget(field: string): void
  /** Checks that run before the form is sent, by field name. */
  checks: Map<string, Check>
}

/** The state of the form around a field. */
export const FieldFaultsContext = createContext<FieldFaults>({ faults: {}, forget() {}, checks: new Map() })

/** Registers a check of a field that runs before the form is sent. */
export function useCheck(field: string, check: Check): void {
  const { checks } = useContext(FieldFaultsContext)
  useLayoutEffect(() => {
    checks.set(field, check)
    return () => void checks.delete(field)
  })
}
