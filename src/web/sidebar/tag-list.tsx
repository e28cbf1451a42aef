import { useEffect, useState } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { hrefOf, useRoute } from '../app/route.ts'
import { countTags } from '../library/tags.ts'
import { Button } from '../ui/button.tsx'

/** So many are shown before somebody asks for all of them. */
const maxShown = 20
const countAfterMs = 200

type Tag = readonly [name: string, count: number]

/** The tags, the most used first. */
export function TagList() {
  const tags = useTags()
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
              <span>{tag}</span> <span class="count">{count}</span>
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

/** Counted a moment after the last change: with many bookmarks it takes longer than an edit may. */
function useTags(): readonly Tag[] {
  const sync = useSync()
  const [tags, setTags] = useState(() => readTags(sync))
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const off = sync.on('change', () => {
      clearTimeout(timer)
      timer = setTimeout(() => setTags(readTags(sync)), countAfterMs)
    })
    return () => {
      clearTimeout(timer)
      off()
    }
  }, [sync])
  return tags
}

/** The second comes before the tenth. */
const { compare } = new Intl.Collator(undefined, { numeric: true })

function readTags(sync: SyncReader): Tag[] {
  return [...countTags(sync)].sort(([one, ones], [other, others]) => others - ones || compare(one, other))
}
