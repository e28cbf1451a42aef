import { useSync } from '../../client/react.ts'
import { useDeviceName } from '../app/device-name.ts'
import { type Bookmark, nameOf } from '../library/kind.ts'
import { Button } from '../ui/button.tsx'
import { exactTime, Time } from '../ui/time.tsx'
import { Changes } from './changes.tsx'
import { restore } from './restore.ts'
import type { TimelineEntry } from './timeline.ts'
import { useHistory } from './use-history.ts'

/** One version of a bookmark: what was done, when, by which device, and what became of it. */
export function Entry({ entry, id }: { entry: TimelineEntry; id: string }) {
  const { bookmark, version, at, change } = entry
  const history = useHistory()
  const sync = useSync()
  const nameOfDevice = useDeviceName()
  const isReadable = !version?.error
  return (
    <li class={version ? 'version' : 'version now'}>
      <h2>
        {version ? operations[version.operation] : bookmark ? 'Now' : 'Deleted'}
        {at !== undefined && (
          <span class="hint">
            {' '}
            {version ? '' : 'since '}
            <Time at={at} isExact />
          </span>
        )}
      </h2>
      {version && (
        <p class="hint">
          {nameOfDevice(version.deviceId)}. {reasons[version.reason]}
        </p>
      )}
      {!isReadable && (
        <p>This device’s keys cannot read this version. It can be restored all the same, for a device that can.</p>
      )}
      {change ? <Changes {...change} /> : bookmark && <Content bookmark={bookmark} />}
      {version && version.operation !== 'delete' && (
        <div class="bar">
          <Button
            aria-label={`Restore this version, of ${exactTime(version.timestamp)}`}
            onClick={() => restore(history, sync, id, version.versionId)}
          >
            Restore this version
          </Button>
        </div>
      )}
    </li>
  )
}

function Content({ bookmark }: { bookmark: Bookmark }) {
  const { url, tags = [] } = bookmark
  return (
    <p class="version-content">
      <strong>{nameOf(bookmark)}</strong>
      {url && <span>{url}</span>}
      {tags.length > 0 && <span>{tags.map((tag) => `#${tag}`).join(' ')}</span>}
    </p>
  )
}

const operations = { create: 'Added', update: 'Changed', delete: 'Deleted' } as const

const reasons = {
  superseded: 'Replaced by a later change.',
  overwritten: 'Replaced by a device that had not seen it.',
  rejected: 'It lost: when it arrived, there was a later change already.',
} as const
