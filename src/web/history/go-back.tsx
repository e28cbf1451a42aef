import { useState } from 'preact/hooks'
import type { RewindCounts } from '../../client/history.ts'
import { useSync } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { messageOf, sentence } from '../ui/failure.ts'
import { Progress } from '../ui/progress.tsx'
import { exactTime } from '../ui/time.tsx'
import { ChooseTime, rememberPlace } from './choose-time.tsx'
import { GoneBack, RewoundCounts } from './rewind-counts.tsx'
import { useHistory } from './use-history.ts'

/** How far going back is: a time is chosen, what would change is counted, then it is done. */
type Stage =
  | { name: 'choosing' }
  | { name: 'counting'; to: number; counts?: RewindCounts }
  | { name: 'counted'; to: number; counts: RewindCounts }
  | { name: 'working'; to: number; counts?: RewindCounts; total: number }
  | { name: 'done'; to: number; counts: RewindCounts; before: number }
  | { name: 'failed'; to: number; why: string; wasBegun: boolean }

/** All bookmarks as they were at a time, after a look at what that changes. */
export function GoBack() {
  const history = useHistory()
  const sync = useSync()
  const [stage, setStage] = useState<Stage>({ name: 'choosing' })

  const count = async (to: number) => {
    setStage({ name: 'counting', to })
    try {
      const onProgress = (counts: RewindCounts) => setStage({ name: 'counting', to, counts })
      setStage({ name: 'counted', to, counts: await history.rewind({ to, dryRun: true, onProgress }) })
    } catch (error) {
      setStage({ name: 'failed', to, why: sentence(messageOf(error)), wasBegun: false })
    }
  }

  const goBack = async (to: number, total: number) => {
    setStage({ name: 'working', to, total })
    try {
      await sync.syncNow()
      // An exact place between two changes: going back there takes this back.
      const before = sync.seen()
      rememberPlace(before)
      const onProgress = (counts: RewindCounts) => setStage({ name: 'working', to, counts, total })
      setStage({ name: 'done', to, counts: await history.rewind({ to, dryRun: false, onProgress }), before })
    } catch (error) {
      setStage({ name: 'failed', to, why: sentence(messageOf(error)), wasBegun: true })
    }
  }

  return (
    <section class="page" aria-labelledby="go-back-title">
      <div class="heading">
        <h1 id="go-back-title">Go back in time</h1>
        <p>All your bookmarks become what they were, on all your devices. First you see what that changes.</p>
      </div>
      <ChooseTime isBusy={stage.name === 'counting' || stage.name === 'working'} choose={count} />
      <div aria-live="polite" class="page">
        {stage.name === 'counting' && <Progress what="Counting what would change" />}
        {stage.name === 'counted' && <Counted {...stage} goBack={goBack} />}
        {stage.name === 'working' && (
          <Progress
            what={`Going back to ${exactTime(stage.to)}`}
            {...(stage.counts && { done: sum(stage.counts) })}
            total={stage.total}
          />
        )}
        {stage.name === 'done' && <GoneBack {...stage} takeBack={() => goBack(stage.before, sum(stage.counts))} />}
        {stage.name === 'failed' && (
          <div class="notice" role="alert">
            <p>
              {stage.why} {stage.wasBegun ? 'What is done stays done; go on from there.' : 'Nothing was changed.'}
            </p>
            <Button onClick={() => (stage.wasBegun ? goBack(stage.to, 0) : count(stage.to))}>
              {stage.wasBegun ? 'Go on' : 'Try again'}
            </Button>
          </div>
        )}
      </div>
    </section>
  )
}

interface CountedProps {
  to: number
  counts: RewindCounts
  goBack: (to: number, total: number) => Promise<void>
}

function Counted({ to, counts, goBack }: CountedProps) {
  const changes = counts.restored + counts.deleted
  return (
    <section class="panel" aria-label="What would change">
      <h2>As of {exactTime(to)}</h2>
      <RewoundCounts counts={counts} isDone={false} />
      {changes === 0 ? (
        <p>Nothing would change: your bookmarks are what they were then.</p>
      ) : (
        <>
          <p class="hint">
            Nothing is lost by it: what is deleted goes to the trash, every version of now is kept, and you can take it
            back.
          </p>
          <div class="bar">
            <Button look="primary" onClick={() => goBack(to, sum(counts))}>
              Go back to {exactTime(to)}
            </Button>
          </div>
        </>
      )}
    </section>
  )
}

function sum({ restored, deleted, unchanged, beyondRetention }: RewindCounts): number {
  return restored + deleted + unchanged + beyondRetention
}
