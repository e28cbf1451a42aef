import type { ComponentChildren, TargetedSubmitEvent } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { messageOf, ShowFailure } from './failure.ts'

interface FormProps {
  /** Gets the fields by name. While its promise is pending, nothing can be sent again. A failure is shown in the form. */
  onSubmit: (fields: Record<string, string>) => unknown
  children: ComponentChildren
  class?: string
}

export function Form({ onSubmit, children, class: name }: FormProps) {
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const focused = document.activeElement
    const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
    setFailure(undefined)
    setBusy(true)
    try {
      await onSubmit(fields)
    } catch (error) {
      setFailure(messageOf(error))
    } finally {
      setBusy(false)
      if (focused instanceof HTMLElement && focused.isConnected) requestAnimationFrame(() => focused.focus())
    }
  }
  return (
    <ShowFailure.Provider value={(error) => setFailure(messageOf(error))}>
      <form class={name ? `form ${name}` : 'form'} onSubmit={submit} aria-busy={isBusy} inert={isBusy}>
        {children}
        {failure && (
          <p class="failure" role="alert">
            {failure}
          </p>
        )}
      </form>
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
