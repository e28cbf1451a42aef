import { useEffect, useState } from 'preact/hooks'
import { type Level, levelOf } from './strength.ts'
import type { Estimate } from './strength-worker.ts'

const levels: readonly Level[] = ['refused', 'weak', 'good', 'strong']
const words: Record<Level, string> = {
  refused: 'Too easy to guess',
  weak: 'Weak',
  good: 'Good',
  strong: 'Strong',
}

/** A screen reader says it once the person has stopped typing. */
const pauseMs = 1000

/** How hard a passphrase is to guess, in words and as a bar; and what would make it harder. */
export function StrengthMeter({ estimate }: { estimate: Estimate }) {
  const level = levelOf(estimate)
  const isWeak = level === 'refused' || level === 'weak'
  const advice = isWeak ? estimate.advice.join(' ') || 'Add another word or two.' : ''
  const text = `Passphrase strength: ${words[level]}. ${advice}`
  const [said, setSaid] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setSaid(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <div class={`strength ${level}`} data-level={level}>
      <div class="strength-bar" aria-hidden="true">
        {levels.map((one, at) => (
          <span key={one} class={at <= levels.indexOf(level) ? 'on' : ''} />
        ))}
      </div>
      <p aria-hidden="true">
        <strong>{words[level]}.</strong> {advice}
      </p>
      <p class="unseen" role="status">
        {said}
      </p>
    </div>
  )
}
