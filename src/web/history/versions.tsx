import { useState } from 'preact/hooks'
import { useBookmark, useSync, useSyncStatus } from '../../client/react.ts'
import { Answer, useLoaded } from '../app/loaded.tsx'
import { hrefOf } from '../app/route.ts'
import { unsentOf } from '../app/unsent.ts'
import { nameOf } from '../library/kind.ts'
import { Letter } from '../library/letter.tsx'
import { pathText } from '../library/paths.ts'
import { Entry } from './entry.tsx'
import { type Against, timeline } from './timeline.ts'
import { useHistory } from './use-history.ts'

/** Everything that a bookmark has been, the newest first, with what changed from one version to the next. */
export function Versions({ rest }: { rest: string }) {
  return <VersionsOf key={rest} id={rest} />
}

function VersionsOf({ id }: { id: string }) {
  const sync = useSync()
  const history = useHistory()
  const current = useBookmark(id)
  const [against, setAgainst] = useState<Against>('previous')
  // What this device has edited is a version once the service has it.
  const isSent = unsentOf(useSyncStatus()) === 0
  const versions = useLoaded(() => history.history(id), [current, isSent])
  const known = current ?? versions.value?.find(({ bookmark }) => bookmark)?.bookmark
  const path = known ? pathText(sync, known) : ''
  return (
    <section class="page history" aria-labelledby="history-title">
      <div class="heading">
        <nav class="crumbs" aria-label="Where this leads back to">
          {current ? <a href={hrefOf('folder', current.parentId)}>Bookmarks</a> : <a href={hrefOf('trash')}>Trash</a>}
        </nav>
        <h1 id="history-title">History</h1>
        {known && (
          <div class="history-of">
            <Letter bookmark={known} />
            <div class="row-text">
              <strong class="row-title" dir="auto">
                {nameOf(known)}
              </strong>
              <span class="row-sub">{[known.url, path && `in ${path}`].filter(Boolean).join(' ')}</span>
            </div>
          </div>
        )}
      </div>
      <Answer of={versions}>
        {(versions) => {
          const entries = timeline(current, versions, against)
          if (entries.length === 0) {
            return <p>The service keeps nothing of this bookmark any more. It may have been erased.</p>
          }
          return (
            <>
              {versions.length > 0 ? (
                <div class="field compare">
                  <label for="against">Mark what changed</label>
                  <select
                    id="against"
                    value={against}
                    onChange={(event) => setAgainst(event.currentTarget.value as Against)}
                  >
                    <option value="previous">from one version to the next</option>
                    <option value="now">from each version to now</option>
                  </select>
                </div>
              ) : (
                <p>It has not been changed since it was added, or earlier versions are not kept any more.</p>
              )}
              <ol class="versions">
                {entries.map((entry) => (
                  <Entry key={entry.key} entry={entry} id={id} />
                ))}
              </ol>
            </>
          )
        }}
      </Answer>
    </section>
  )
}
