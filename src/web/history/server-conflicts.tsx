import type { ComponentChildren } from 'preact'
import type { BookmarkVersion } from '../../client/history.ts'
import { useBookmark, useConflicts, useSync, useSyncStatus } from '../../client/react.ts'
import { useApp } from '../app/context.ts'
import { useDeviceName } from '../app/device-name.ts'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { hrefOf } from '../app/route.ts'
import { unsentOf } from '../app/unsent.ts'
import { nameOf } from '../library/kind.ts'
import { Button } from '../ui/button.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { Changes } from './changes.tsx'
import { restore } from './restore.ts'
import { useHistory } from './use-history.ts'

/** A device that is there asks its own user in this time, and then the conflict is off the list. */
const graceMs = 600_000

/**
 * Edits that lost on any device and that nobody has settled: the device that made them may be gone.
 *
 * @param children what stands here if there are none
 */
export function ServerConflicts({ children }: { children: ComponentChildren }) {
  const history = useHistory()
  const { device } = useApp()
  const here = new Set(useConflicts().map(({ id }) => id))
  const isSent = unsentOf(useSyncStatus()) === 0
  const conflicts = useLoaded(() => history.serverConflicts(), [isSent])
  return (
    <Answer of={conflicts}>
      {({ conflicts: open, next }) => {
        const versions = open.filter(
          ({ id, deviceId, ended }) => deviceId !== device.id && !here.has(id) && ended < serviceNow() - graceMs,
        )
        if (versions.length === 0) return children
        return (
          <section class="history-section" aria-labelledby="server-conflicts-title">
            <h2 id="server-conflicts-title">On other devices</h2>
            <p>Edits that lost to another one. Their devices have not been back since to ask about them.</p>
            <ul class="plain history-section">
              {versions.map((version) => (
                <Lost key={version.versionId} version={version} settled={conflicts.load} />
              ))}
            </ul>
            {next !== null && <p class="hint">There are more. Decide about these first.</p>}
          </section>
        )
      }}
    </Answer>
  )
}

function Lost({ version, settled }: { version: BookmarkVersion; settled: () => Promise<void> }) {
  const { id, versionId, bookmark, operation, timestamp, deviceId } = version
  const history = useHistory()
  const sync = useSync()
  const current = useBookmark(id)
  const nameOfDevice = useDeviceName()
  const shown = bookmark ?? current
  return (
    <li class="panel" data-version={versionId}>
      <h3>{shown ? nameOf(shown) : 'A bookmark'}</h3>
      <p class="hint">
        {operation === 'delete' ? 'Deleted' : 'Changed'} <Time at={timestamp} isExact /> on {nameOfDevice(deviceId)}
      </p>
      {!current && <p>It is deleted now.</p>}
      {version.error && <p>This device’s keys cannot read the edit that lost. A device that can should decide.</p>}
      {current && bookmark && (
        <>
          <p>What putting it back would change:</p>
          <Changes before={current} after={bookmark} />
        </>
      )}
      <div class="bar">
        {operation === 'delete' ? (
          <Button
            onClick={async () => {
              await sync.remove(id)
              await history.settleConflict(versionId)
              await settled()
            }}
          >
            Delete it
          </Button>
        ) : (
          <Button
            onClick={async () => {
              await restore(history, sync, id, versionId)
              await settled()
            }}
          >
            Put it back
          </Button>
        )}
        <Button
          onClick={async () => {
            await history.settleConflict(versionId)
            tell('Settled: the bookmark stays as it is')
            await settled()
          }}
        >
          Leave it as it is
        </Button>
        <a href={hrefOf('history', id)}>History</a>
      </div>
    </li>
  )
}
