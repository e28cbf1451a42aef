import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { number } from '../words/language.ts'
import { say } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon, type IconShapes } from './icons.tsx'

/** Milliseconds after which a person wonders whether anything happens. */
const longMs = 6000

/** True after `isOn` has been true for `longMs`. */
export function useLong(isOn: boolean): boolean {
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    setLong(false)
    if (!isOn) return
    const timer = setTimeout(() => setLong(true), longMs)
    return () => clearTimeout(timer)
  }, [isOn])
  return isLong
}

/** A placeholder while something loads. After `longMs`, it offers another attempt. */
export function Waiting({ again }: { again: () => unknown }) {
  const isLong = useLong(true)
  return (
    <div class="waiting" role="status">
      <p>{isLong ? say.ui.noAnswerYet : say.ui.loading}</p>
      {isLong && <Button onClick={() => void again()}>{say.ui.tryAgain}</Button>}
    </div>
  )
}

/** Shown instead of an empty list: what belongs there, and how to add it. */
export function Empty({ icon, title, children }: { icon: IconShapes; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon of={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** The progress of a step. Without numbers, only that the step has begun is known. */
export interface Step {
  what: string
  done?: number
  total?: number
  /** The overall progress from 0 to 1, if there are several steps. */
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

/** Large numbers with labels. */
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
