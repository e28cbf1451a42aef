import { useEffect, useRef } from 'preact/hooks'
import type { RewindCounts } from '../../client/history.ts'
import { hrefOf } from '../app/route.ts'
import { Button } from '../ui/button.tsx'
import { Counts } from '../ui/counts.tsx'
import { exactTime } from '../ui/time.tsx'

/** What becomes of the bookmarks, or became of them. */
export function RewoundCounts({ counts, isDone }: { counts: RewindCounts; isDone: boolean }) {
  const { restored, deleted, unchanged, beyondRetention } = counts
  const lines = [
    {
      count: restored,
      what: 'restored',
      why: isDone ? 'again as of then' : 'will be again as of then',
    },
    {
      count: deleted,
      what: 'deleted',
      why: isDone ? 'in the trash now' : 'added since, or deleted then',
    },
    { count: unchanged, what: 'unchanged', why: 'as then' },
    { count: beyondRetention, what: 'not touched', why: 'nothing is kept any more of what was then' },
  ]
  return <Counts lines={lines.filter(({ count, what }) => count > 0 || what === 'restored' || what === 'deleted')} />
}

interface GoneBackProps {
  to: number
  counts: RewindCounts
  takeBack: () => Promise<void>
}

/** What happened, and how to take it back. */
export function GoneBack({ to, counts, takeBack }: GoneBackProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <section class="panel" aria-label="What happened">
      <h2 ref={heading} tabIndex={-1}>
        Done: your bookmarks are as of {exactTime(to)}
      </h2>
      <RewoundCounts counts={counts} isDone />
      <p class="hint">
        Other devices may ask before they delete many bookmarks. To take this back later, open “Go back in time” in this
        browser again and choose “Before I last went back”.
      </p>
      <div class="bar">
        <Button onClick={takeBack}>Take it back</Button>
        <a class="button" href={hrefOf('folder')}>
          Show my bookmarks
        </a>
      </div>
    </section>
  )
}
