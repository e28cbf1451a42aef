import { useSyncStatus } from '../../client/react.ts'
import { hrefOf, useRoute } from '../app/route.ts'

export function ConflictCount() {
  const { conflicts = 0 } = useSyncStatus()
  return conflicts > 0 ? <span class="badge alert">{conflicts}</span> : null
}

/**
 * Shown above every other view, because a conflict may come at any time. A screen reader says what comes into a place that is there
 * already.
 */
export function ConflictNotice() {
  const { conflicts = 0 } = useSyncStatus()
  const { view } = useRoute()
  const isNews = conflicts > 0 && view !== 'conflicts'
  return (
    <p class={isNews ? 'notice calm' : 'unseen'} role="status">
      {isNews && (
        <>
          {conflicts === 1
            ? 'An edit of yours lost to another device’s.'
            : `${conflicts} edits of yours lost to those of other devices.`}{' '}
          <a href={hrefOf('conflicts')}>Decide</a>
        </>
      )}
    </p>
  )
}
