import { type ComponentChildren, Fragment, type VNode } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { say } from '../words/words.ts'
import { Button, IconButton } from './button.tsx'
import { ShowFailure, useFailure } from './failure.ts'
import { CloseIcon } from './icons.tsx'
import { hasLeft, whenLeaving } from './leaving.ts'
import { sharedValue } from './shared-value.ts'
import { dismiss, redo, tell, undo, useToasts } from './tell.ts'

type Content = (close: () => void) => VNode

const shown = sharedValue<{ content: Content | undefined; number: number }>({ content: undefined, number: 0 })

/** Shows a `<Dialog>` above the page until it is closed. Only one at a time. */
export function showDialog(content: Content): void {
  if (!hasLeft()) shown.set({ content, number: shown.get().number + 1 })
}

whenLeaving(() => {
  const { content, number } = shown.get()
  if (!content) return
  shown.set({ content: undefined, number })
  tell(say.app.dialogClosed)
})

/** Draws the open dialog. The page contains only one `<Dialogs>`: a second one would draw the dialog again. */
export function Dialogs() {
  const { content, number } = shown.use()
  // A call may end after its dialog was closed and the next one opened. It must not close the next one.
  const close = () => shown.get().number === number && shown.set({ content: undefined, number })
  return content ? <Fragment key={number}>{content(close)}</Fragment> : null
}

interface DialogProps {
  title: string
  close: () => void
  /** Called when the dialog is closed and the focus is back. */
  gone?: { readonly current: () => void }
  children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside, closes it on Escape, and then restores the focus. */
export function Dialog({ title, close, gone, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [failure, setFailure] = useState<string>()
  const titleId = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    // "Back" leads to another view, to which the dialog does not belong.
    const leave = () => shown?.close()
    addEventListener('popstate', leave)
    return () => {
      removeEventListener('popstate', leave)
      shown?.close()
      gone?.current()
    }
  }, [])
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={titleId} onClose={close}>
      <ShowFailure.Provider value={useFailure(setFailure)}>
        <div class="dialog-head">
          <h2 id={titleId}>{title}</h2>
          <IconButton label={say.ui.close} icon={CloseIcon} onClick={close} />
        </div>
        {children}
        {failure && (
          <p class="failure" role="alert">
            {failure}
          </p>
        )}
      </ShowFailure.Provider>
    </dialog>
  )
}

interface Question {
  title: string
  /** Explains the consequences. */
  text: ComponentChildren
  /** The label of the button that starts the action. */
  action: string
  run: () => unknown
  /** Called when the action is done and the dialog is closed. */
  ran?: () => void
}

/** Asks before an action that is large or cannot be undone. A failure is shown in the dialog, which stays open. */
export function confirmFirst(question: Question): void {
  showDialog((close) => <Confirmation {...question} close={close} />)
}

export function Confirmation({ title, text, action, run, ran, close }: Question & { close: () => void }) {
  const gone = useRef(() => {})
  return (
    <Dialog title={title} close={close} gone={gone}>
      <div class="form">
        <p>{text}</p>
        <div class="bar end">
          <Button onClick={close} autofocus>
            {say.ui.cancel}
          </Button>
          <Button
            look="danger"
            onClick={async () => {
              await run()
              gone.current = ran ?? gone.current
              close()
            }}
          >
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

/** Draws the messages of `tell`. The page contains only one `<Toasts>`, so that each is announced once. */
export function Toasts() {
  return (
    <div class="toasts" aria-live="polite">
      {useToasts().map(({ id, text, isAlert, undo: canUndo, undoName = say.ui.undo, again, show }) => (
        <div key={id} class={isAlert ? 'toast alert' : 'toast'} role={isAlert ? 'alert' : 'status'}>
          {/* Redo is before the text, not where Undo was: a second click there would redo a deletion. */}
          {again && (
            <Button look="quiet" onClick={() => leave(redo(again))}>
              {say.ui.redo}
            </Button>
          )}
          <span>{text}</span>
          {show && (
            <Button
              look="quiet"
              onClick={() => {
                dismiss(id)
                show()
              }}
            >
              {say.ui.show}
            </Button>
          )}
          {canUndo && (
            <Button look="quiet" onClick={() => leave(undo(id))}>
              {undoName}
            </Button>
          )}
          <IconButton label={say.ui.dismiss} icon={CloseIcon} onClick={() => leave(dismiss(id))} />
        </div>
      ))}
    </div>
  )
}

/** Moves the focus, because the button that had it is gone. */
async function leave(work: unknown): Promise<void> {
  await work
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('#main')?.focus()
}
