import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { number } from '../words/language.ts'
import { say } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon, type IconShapes } from './icons.tsx'

/** After this, a person wonders whether anything happens at all. */
const longMs = 6000

/** True once `isOn` has been true for so long that the person should hear why. */
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

/** Stands where something will be; if that takes long, it offers another attempt. */
export function Waiting({ again }: { again: () => unknown }) {
  const isLong = useLong(true)
  return (
    <div class="waiting" role="status">
      <p>{isLong ? say.ui.noAnswerYet : say.ui.loading}</p>
      {isLong && <Button onClick={() => void again()}>{say.ui.tryAgain}</Button>}
    </div>
  )
}

/** Stands where nothing is yet, and says what belongs here and what to do. */
export function Empty({ icon, title, children }: { icon: IconShapes; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon of={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}

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
