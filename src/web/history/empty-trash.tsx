import { useState } from 'preact/hooks'
import type { History } from '../../client/history.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'
import { Progress, type Step } from '../ui/progress.tsx'
import { tell } from '../ui/tell.ts'

/** So many are erased side by side. */
const atOnce = 4

/** Asks whether everything in the trash shall go, and shows how far that is. */
export function askToEmpty(history: History, reload: () => Promise<void>): void {
  showDialog((close) => <EmptyTrash history={history} reload={reload} close={close} />)
}

interface EmptyTrashProps {
  history: History
  reload: () => Promise<void>
  close: () => void
}

function EmptyTrash({ history, reload, close }: EmptyTrashProps) {
  const [step, setStep] = useState<Step>()
  const [stop] = useState(() => new AbortController())
  const end = () => {
    stop.abort()
    close()
  }
  const run = async () => {
    try {
      const done = await erase(history, setStep, stop.signal)
      tell(`${done.toLocaleString()} erased for good`)
      close()
    } finally {
      setStep(undefined)
      await reload()
    }
  }
  return (
    <Dialog title="Empty the trash?" close={end}>
      <div class="form">
        <p>Everything in it goes for good, with all earlier versions, on all devices. This cannot be taken back.</p>
        {step && <Progress {...step} />}
        <div class="bar end">
          <Button onClick={end} autofocus>
            {step ? 'Stop' : 'Cancel'}
          </Button>
          <Button look="danger" onClick={run}>
            Erase everything
          </Button>
        </div>
      </div>
    </Dialog>
  )
}

/** Returns how many it has erased. */
async function erase(history: History, show: (step: Step) => void, signal: AbortSignal): Promise<number> {
  show({ what: 'Erasing' })
  const ids: string[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await history.trash({ signal, ...(after !== undefined && { after }) })
    ids.push(...page.bookmarks.map(({ id }) => id))
    after = page.next
  }
  let done = 0
  const pending = ids.values()
  const work = async () => {
    for (const id of pending) {
      if (signal.aborted) return
      await history.purge(id)
      show({ what: 'Erasing', done: ++done, total: ids.length })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return done
}
