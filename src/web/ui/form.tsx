import type { ComponentChildren, TargetedSubmitEvent } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { messageOf, ShowFailure } from './failure.ts'
import { type Check, FieldFault, FieldFaultsContext } from './field-fault.ts'
import { useLong } from './waiting.tsx'

interface FormProps {
  /**
   * Gets the fields by name. While its promise is pending, nothing can be sent again. A failure is shown in the form, a
   * FieldFault at its field.
   */
  onSubmit: (fields: Record<string, string>) => unknown
  children: ComponentChildren
  class?: string
}

export function Form({ onSubmit, children, class: name }: FormProps) {
  const [failure, setFailure] = useState<string>()
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
    const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
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
        setFaults({ [error.field]: error.message })
        ;(form.elements.namedItem(error.field) as HTMLElement).focus()
      } else setFailure(messageOf(error))
    } finally {
      isPending.current = false
      setBusy(false)
    }
  }
  return (
    <ShowFailure.Provider value={(error) => setFailure(messageOf(error))}>
      <FieldFaultsContext.Provider value={{ faults, forget, checks }}>
        <form class={name ? `form ${name}` : 'form'} onSubmit={submit} aria-busy={isBusy}>
          {children}
          {isLong && (
            <p class="hint" role="status">
              This takes longer than usual. The page keeps waiting.
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

/** The end of a dialog's form: what closes it, and what sends it. */
export function FormEnd({ close, children }: { close: () => void; children: ComponentChildren }) {
  return (
    <div class="bar end">
      <Button onClick={close}>Cancel</Button>
      <Submit>{children}</Submit>
    </div>
  )
}

/** What sends the form. */
export function Submit({ children }: { children: ComponentChildren }) {
  return (
    <button type="submit" class="button primary">
      <span>{children}</span>
    </button>
  )
}
