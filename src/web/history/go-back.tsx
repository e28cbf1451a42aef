import { useEffect, useRef, useState } from 'preact/hooks'
import type { RewindCounts } from '../../client/history.ts'
import { useSync } from '../../client/react.ts'
import { useApp } from '../session/context.ts'
import { hrefOf } from '../session/route.ts'
import { findPlaceBefore, notePlaceBefore } from '../session/session.ts'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'
import { Field, Form } from '../ui/form.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { tellIfLeft } from '../ui/tell.ts'
import { exactTime } from '../ui/time.tsx'
import { Counts, Progress } from '../ui/waiting.tsx'
import { later } from '../words/later.ts'
import { say } from '../words/words.ts'
import { useHistory } from './use-history.ts'

/** The steps: choose a time, count what would change, do it. */
type Stage =
  | { name: 'choosing' }
  | { name: 'counting'; to: number; counts?: RewindCounts }
  | { name: 'counted'; to: number; counts: RewindCounts }
  | { name: 'working'; to: number; counts?: RewindCounts; total: number }
  | { name: 'done'; to: number; counts: RewindCounts; before: number }
  | { name: 'failed'; to: number; why: string; wasBegun: boolean }

/** Restores bookmarks as they were at a time, as far as the service still has that, after showing what it changes. */
export function GoBack() {
  const history = useHistory()
  const { userId } = useApp()
  const sync = useSync()
  const [stage, setStage] = useState<Stage>({ name: 'choosing' })

  const count = async (to: number) => {
    setStage({ name: 'counting', to })
    try {
      const onProgress = (counts: RewindCounts) => setStage({ name: 'counting', to, counts })
      setStage({ name: 'counted', to, counts: await history.rewind({ to, dryRun: true, onProgress }) })
    } catch (error) {
      setStage({ name: 'failed', to, why: messageOf(error), wasBegun: false })
    }
  }

  const goBack = async (to: number, total: number) => {
    setStage({ name: 'working', to, total })
    try {
      await sync.syncNow()
      const before = sync.seen()
      // Going back to this time undoes this rewind, and nothing before it. A time that somebody enters has only minutes.
      notePlaceBefore(userId, before)
      const onProgress = (counts: RewindCounts) => setStage({ name: 'working', to, counts, total })
      setStage({ name: 'done', to, counts: await history.rewind({ to, dryRun: false, onProgress }), before })
      tellIfLeft(later.history.done(exactTime(to)))
    } catch (error) {
      tellIfLeft(`${say.app.views['go-back']}: ${messageOf(error)} ${later.history.doneStays}`)
      setStage({ name: 'failed', to, why: messageOf(error), wasBegun: true })
    }
  }

  return (
    <section class="page" aria-labelledby="go-back-title">
      <div class="heading">
        <h1 id="go-back-title">{say.app.views['go-back']}</h1>
        <p>{later.history.goBackMore}</p>
      </div>
      <ChooseTime isBusy={stage.name === 'counting' || stage.name === 'working'} choose={count} />
      <div aria-live="polite" class="page">
        {stage.name === 'counting' && <Progress what={later.history.counting} />}
        {stage.name === 'counted' && <Counted {...stage} goBack={goBack} />}
        {stage.name === 'working' && (
          <Progress
            what={later.history.goingBack(exactTime(stage.to))}
            {...(stage.counts && { done: sum(stage.counts) })}
            total={stage.total}
          />
        )}
        {stage.name === 'done' && <GoneBack {...stage} takeBack={() => goBack(stage.before, sum(stage.counts))} />}
        {stage.name === 'failed' && (
          <div class="notice" role="alert">
            <p>
              {stage.why} {stage.wasBegun ? later.history.doneStays : later.history.nothingChanged}
            </p>
            <Button onClick={() => (stage.wasBegun ? goBack(stage.to, 0) : count(stage.to))}>
              {stage.wasBegun ? say.ui.continue : say.ui.tryAgain}
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
    <section class="panel" aria-label={later.history.wouldChange}>
      <h2>{later.history.asOf(exactTime(to))}</h2>
      <RewoundCounts counts={counts} isDone={false} />
      {changes === 0 ? (
        <p>{later.history.noChange}</p>
      ) : (
        <>
          <p class="hint">{later.history.canUndo}</p>
          <div class="bar">
            <Button look="primary" onClick={() => goBack(to, sum(counts))}>
              {later.history.goBackTo(exactTime(to))}
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

interface ChooseTimeProps {
  isBusy: boolean
  choose: (to: number) => unknown
}

const hour = 3_600_000

const usual: readonly { label: string; ms: number }[] = [
  { label: later.history.hourAgo, ms: hour },
  { label: later.history.dayAgo, ms: 24 * hour },
  { label: later.history.weekAgo, ms: 7 * 24 * hour },
]

/** Offers usual times and the one before the last rewind with one click, and a field for another time in the past. */
function ChooseTime({ isBusy, choose }: ChooseTimeProps) {
  const place = findPlaceBefore(useApp().userId)
  const [fault, setFault] = useState<string>()
  const submit = ({ date = '' }: Record<string, string>) => {
    const to = new Date(date).getTime()
    if (Number.isNaN(to)) return setFault(later.history.enterTime)
    if (to > serviceNow()) return setFault(later.history.inFuture)
    return choose(to)
  }
  return (
    <div class="panel">
      <div class="bar">
        {usual.map(({ label, ms }) => (
          <Button key={label} disabled={isBusy} onClick={() => choose(serviceNow() - ms)}>
            {label}
          </Button>
        ))}
        {place !== undefined && (
          <Button disabled={isBusy} title={exactTime(place)} onClick={() => choose(place)}>
            {later.history.beforeGoingBack}
          </Button>
        )}
      </div>
      <Form class="choose-time" onSubmit={submit}>
        <Field
          label={later.history.orTime}
          name="date"
          type="datetime-local"
          defaultValue={localTime(serviceNow() - hour)}
          required
          error={fault}
          onInput={() => setFault(undefined)}
        />
        <button type="submit" class="button">
          <span>{later.history.preview}</span>
        </button>
      </Form>
    </div>
  )
}

/** Formats a time for a `datetime-local` input: local time, to the minute. */
function localTime(at: number): string {
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Shows how many bookmarks a rewind would restore, delete, leave as they are or fail to restore, or how many it did. */
function RewoundCounts({ counts, isDone }: { counts: RewindCounts; isDone: boolean }) {
  const shown = (['restored', 'deleted', 'unchanged', 'beyondRetention'] as const).filter(
    (name, index) => counts[name] > 0 || index < 2,
  )
  const lines = shown.map((name) => {
    const { what, did, would } = later.history.counts[name]
    return { count: counts[name], what, why: isDone ? did : would }
  })
  return <Counts lines={lines} />
}

interface GoneBackProps {
  to: number
  counts: RewindCounts
  takeBack: () => Promise<void>
}

/** Reports the result, and offers to undo it. */
function GoneBack({ to, counts, takeBack }: GoneBackProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <section class="panel" aria-label={later.history.happened}>
      <h2 ref={heading} tabIndex={-1}>
        {later.history.done(exactTime(to))}
      </h2>
      <RewoundCounts counts={counts} isDone />
      <p class="hint">{later.history.doneMore}</p>
      <div class="bar">
        <Button onClick={takeBack}>{later.history.undoGoingBack}</Button>
        <a class="button" href={hrefOf('folder')}>
          {later.history.showBookmarks}
        </a>
      </div>
    </section>
  )
}
