import { Button, IconButton } from './button.tsx'
import { CloseIcon } from './icons.tsx'
import { dismiss, undo, useToasts } from './tell.ts'

/** Where the messages of `tell` appear: once on the page. */
export function Toasts() {
  return (
    <div class="toasts" aria-live="polite">
      {useToasts().map(({ id, text, isAlert, undo: canUndo, undoName = 'Undo' }) => (
        <div key={id} class={isAlert ? 'toast alert' : 'toast'} role={isAlert ? 'alert' : 'status'}>
          <span>{text}</span>
          {canUndo && (
            <Button look="quiet" onClick={() => leave(undo(id))}>
              {undoName}
            </Button>
          )}
          <IconButton label="Dismiss" icon={CloseIcon} onClick={() => leave(dismiss(id))} />
        </div>
      ))}
    </div>
  )
}

/** The button that had the focus is gone. */
async function leave(work: void | Promise<void>): Promise<void> {
  await work
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('#main')?.focus()
}
