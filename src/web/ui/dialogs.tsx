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

const shown = sharedValue<{ content: Content | undefined; turn: number }>({ content: undefined, turn: 0 })

/** Shows a `<Dialog>` above the page until it is closed; one at a time. */
export function showDialog(content: Content): void {
  if (!hasLeft()) shown.set({ content, turn: shown.get().turn + 1 })
}

whenLeaving(() => {
  const { content, turn } = shown.get()
  if (!content) return
  shown.set({ content: undefined, turn })
  tell(say.app.dialogClosed)
})

/** The element in which a dialog appears: once on the page. */
export function Dialogs() {
  const { content, turn } = shown.use()
  // A dialog's request may take longer than the person, who has closed it and works in the next.
  const close = () => shown.get().turn === turn && shown.set({ content: undefined, turn })
  return content ? <Fragment key={turn}>{content(close)}</Fragment> : null
}

interface DialogProps {
  title: string
  close: () => void
  /** Called once it is gone, and the focus is back. */
  gone?: { readonly current: () => void }
  children: ComponentChildren
}

/** The browser keeps the focus inside, closes it with Escape, and gives the focus back afterwards. */
export function Dialog({ title, close, gone, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [failure, setFailure] = useState<string>()
  const titleId = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    // "Back" leads to another view, and nobody fills in a form above that.
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
  /** Says what will happen. */
  text: ComponentChildren
  /** The name of the button that does it. */
  action: string
  run: () => unknown
  /** Called once it is done and the dialog is gone. */
  ran?: () => void
}

/** Asks before something that cannot be taken back. What fails is shown in the dialog, which stays. */
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

/** The element in which the messages of `tell` appear: once on the page. */
export function Toasts() {
  return (
    <div class="toasts" aria-live="polite">
      {useToasts().map(({ id, text, isAlert, undo: canUndo, undoName = say.ui.undo, again, show }) => (
        <div key={id} class={isAlert ? 'toast alert' : 'toast'} role={isAlert ? 'alert' : 'status'}>
          {/* Before the text: it may delete again, and must not come to where Undo was. */}
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

/** The button that had the focus is gone. */
async function leave(work: unknown): Promise<void> {
  await work
  if (document.activeElement === document.body) document.querySelector<HTMLElement>('#main')?.focus()
}
