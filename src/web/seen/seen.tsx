import type { Sync } from '../../client/index.ts'
import { nameOf } from '../library/kind.ts'
import { Dialog } from '../ui/dialogs.tsx'
import { exactTime } from '../ui/time.tsx'
import { bytes } from '../words/language.ts'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { type SeenRequest, useSeenRequests } from './requests.ts'

/** Shows, next to each other, what the person sees and what the service receives of it. */
export function Seen({ sync, close }: { sync: Sync; close: () => void }) {
  const requests = useSeenRequests()
  return (
    <Dialog title={say.app.serverSees} close={close}>
      <div class="form seen">
        <p>{later.seen.lastRequests(requests.length)}</p>
        <ul class="plain">
          {requests.map((request) => (
            <Request key={request.number} sync={sync} request={request} />
          ))}
        </ul>
      </div>
    </Dialog>
  )
}

function Request({
  sync,
  request: { at, method, path, body, bytes: size, isCut },
}: {
  sync: Sync
  request: SeenRequest
}) {
  const ids = [...new Set(Array.from(body.matchAll(/"entity_id":"([^"\\]+)"/g), ([, id = '']) => id))]
  return (
    <li>
      <details>
        <summary>
          <code>
            {method} {path}
          </code>
          <span class="hint">
            {exactTime(at)}, {bytes(size)}
            {ids.length > 0 && `, ${countText(body, ids.length)}`}
          </span>
        </summary>
        <div class="seen-pair">
          <div>
            <h3>{later.seen.onDevices}</h3>
            {ids.length === 0 && <p>{later.seen.noBookmark}</p>}
            <ul class="plain">
              {ids.map((id) => {
                const bookmark = sync.get(id) ?? sync.groups.get(id) ?? sync.history.get(id)
                return (
                  <li key={id}>
                    {bookmark ? nameOf(bookmark) : later.seen.deleted}
                    {bookmark?.url !== undefined && <div class="hint">{bookmark.url}</div>}
                  </li>
                )
              })}
            </ul>
          </div>
          <div>
            <h3>{later.seen.onServer}</h3>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: A keyboard scrolls it. */}
            <pre tabIndex={0}>{body === '' ? later.seen.noBody : body}</pre>
            {isCut && <p class="hint">{later.seen.andMore(size)}</p>}
          </div>
        </div>
      </details>
    </li>
  )
}

function countText(body: string, count: number): string {
  return /"entity_type":"(group|history)"/.test(body) ? say.ui.items(count) : say.ui.bookmarks(count)
}
