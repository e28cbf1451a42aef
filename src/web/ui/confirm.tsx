import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'
import { Dialog, showDialog } from './dialogs.tsx'

interface Question {
  title: string
  /** What will happen. */
  text: ComponentChildren
  /** What the button says that does it. */
  action: string
  run: () => unknown
}

/** Asks before something that cannot be taken back. What fails is shown in the dialog, which stays. */
export function confirmFirst({ title, text, action, run }: Question): void {
  showDialog((close) => (
    <Dialog title={title} close={close}>
      <div class="form">
        <p>{text}</p>
        <div class="bar end">
          <Button onClick={close} autofocus>
            Cancel
          </Button>
          <Button
            look="danger"
            onClick={async () => {
              await run()
              close()
            }}
          >
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  ))
}
