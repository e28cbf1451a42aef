import { useState } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSelection } from '../../client/react.ts'
import { hrefOf, useRoute } from '../app/route.ts'
import { countTags } from '../library/tags.ts'
import { Button } from '../ui/button.tsx'

/** So many are shown before somebody asks for all of them. */
const maxShown = 20

/** The tags, the most used first. */
export function TagList() {
  const tags = useSelection(readTags)
  const { view, rest } = useRoute()
  const [showsAll, setShowsAll] = useState(false)
  if (tags.length === 0) return null
  return (
    <section class="tags" aria-label="Tags">
      <h2>Tags</h2>
      <ul>
        {(showsAll ? tags : tags.slice(0, maxShown)).map(([tag, count]) => (
          <li key={tag}>
            <a class="tag" href={hrefOf('tag', tag)} aria-current={view === 'tag' && rest === tag ? 'page' : undefined}>
              {tag} <span class="count">{count}</span>
            </a>
          </li>
        ))}
      </ul>
      {tags.length > maxShown && (
        <Button look="quiet" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Fewer' : `All ${tags.length}`}
        </Button>
      )}
    </section>
  )
}

function readTags(sync: SyncReader): (readonly [tag: string, count: number])[] {
  return [...countTags(sync)].sort(([one, ones], [other, others]) => others - ones || (one < other ? -1 : 1))
}
