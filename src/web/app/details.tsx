import { useEffect, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, showDialog } from '../ui/dialogs.tsx'

/** Shows how the sync stands, for a report of a fault. */
export function showDetails(sync: Sync): void {
  showDialog((close) => <Details sync={sync} close={close} />)
}

function Details({ sync, close }: { sync: Sync; close: () => void }) {
  const [text, setText] = useState('')
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    const show = (told: object) => setText(JSON.stringify(told, null, 2))
    // A sync that has stopped explains nothing more.
    sync.explain().then(show, () => show({ status: sync.status() }))
  }, [])
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <Dialog title="Details" close={close}>
      <p>For a report of a fault. It names no bookmark, no address and no key.</p>
      <textarea class="details" aria-label="Details" readOnly rows={16} value={text} />
      <div class="bar">
        <Button onClick={copy}>{isCopied ? 'Copied' : 'Copy'}</Button>
      </div>
    </Dialog>
  )
}
