import { number } from '../words/language.ts'
import { say } from '../words/words.ts'
/** How far long work is; without a number, that it has begun. */
export interface Step {
  what: string
  done?: number
  total?: number
  /** If it is one of several steps, how much of all is done, from 0 to 1. */
  share?: number
}

export function Progress({ what, done, total, share }: Step) {
  const isCounted = done !== undefined && total !== undefined && total > 0
  return (
    <div class="progress">
      <span>{isCounted ? say.ui.doneOf(what, done, total) : what}</span>
      <progress
        aria-label={what}
        {...(isCounted && { value: done, max: total })}
        {...(share && { value: share, max: 1 })}
      />
    </div>
  )
}

interface Count {
  count: number
  what: string
  why: string
}

/** Large numbers, each with what was counted. */
export function Counts({ lines, kind = '' }: { lines: Count[]; kind?: string }) {
  return (
    <dl class={`counts ${kind}`}>
      {lines.map(({ count, what, why }) => (
        <div key={what}>
          <dt>
            <span class="count-number">{number(count)}</span> {what}
          </dt>
          <dd class="hint">{why}</dd>
        </div>
      ))}
    </dl>
  )
}
