import { useSyncStatus } from '../../client/react.ts'
import { hrefOf } from '../app/route.ts'

export function ConflictCount() {
  const { conflicts = 0 } = useSyncStatus()
  return conflicts > 0 ? <span class="badge alert">{conflicts}</span> : null
}

/**
 * Shown above every view, because a conflict may come at any time. A screen reader says what comes into a place that is there
 * already.
 */
export function ConflictNotice() {
  const { conflicts = 0 } = useSyncStatus()
  return (
    <p class={conflicts > 0 ? 'notice calm' : 'unseen'} role="status">
      {conflicts > 0 && (
        <>
          {conflicts === 1
            ? 'An edit of yours lost to another device’s.'
            : `${conflicts} edits of yours lost to others.`}{' '}
          <a href={hrefOf('conflicts')}>Decide</a>
        </>
      )}
    </p>
  )
}
