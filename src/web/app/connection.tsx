import type { ComponentChildren } from 'preact'
import { ApiError } from '../../client/index.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { useOutdated } from '../offline/register.ts'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'
import { tell } from '../ui/tell.ts'
import { useLong } from '../ui/waiting.tsx'
import { useIsCut, useIsSlowedDown } from './network.ts'
import { stillText, useTrouble } from './trouble.ts'
import { unsentOf } from './unsent.ts'

/** While nothing can be exchanged: why, what becomes of edits, and another attempt. */
export function Connection() {
  const status = useSyncStatus()
  const { state, reason } = status
  const edits = editsText(unsentOf(status))
  const trouble = useTrouble()
  const isCut = useIsCut()
  const isSlowedDown = useIsSlowedDown()
  const isSlow = useLong(state === 'connecting')
  // Then nothing helps but to reload the page.
  if (useOutdated() === 'store') return null
  if (reason === 'storage') {
    return (
      <Notice isAlert title="The storage of this browser is full">
        What other devices change cannot be saved here, and edits fail. Free some space on the device.
      </Notice>
    )
  }
  if (isSlowedDown && (state === 'offline' || (state === 'connecting' && isSlow))) {
    return (
      <Notice title="The service asks this device to wait">
        It has had too many requests from here. The page tries again by itself. {edits}
      </Notice>
    )
  }
  if (state === 'connecting' && isSlow) {
    return <Notice title="The service or the connection is slow">{edits}</Notice>
  }
  if (state !== 'offline' || reason !== 'network') return null
  if (isCut) {
    return (
      <Notice title="This device is offline, by its switch" canRetry={false}>
        {edits}
      </Notice>
    )
  }
  if (trouble instanceof ApiError) {
    return (
      <Notice title="The service cannot sync at present" isAlert>
        {messageOf(trouble)} {edits}
      </Notice>
    )
  }
  return (
    <Notice title={navigator.onLine ? 'The service does not answer' : 'This device has no network'}>{edits}</Notice>
  )
}

function editsText(unsent: number): string {
  if (unsent === 0) return 'You can go on: edits are kept here, and sent as soon as that is possible.'
  const edits = unsent === 1 ? 'One edit waits' : `${unsent.toLocaleString()} edits wait`
  return `You can go on. ${edits} in this browser, to be sent as soon as that is possible.`
}

interface NoticeProps {
  title: string
  isAlert?: boolean
  canRetry?: boolean
  children: ComponentChildren
}

function Notice({ title, isAlert = false, canRetry = true, children }: NoticeProps) {
  const sync = useSync()
  const retry = async () => {
    // The notice says why, as long as it is true.
    await sync.syncNow().catch((error: unknown) => tell(stillText(error)))
  }
  return (
    <section class={isAlert ? 'notice' : 'notice calm'} id="connection" aria-label="Connection">
      <div role="status">
        <strong>{title}</strong>
        <p>{children}</p>
      </div>
      {canRetry && <Button onClick={retry}>Try again</Button>}
    </section>
  )
}
