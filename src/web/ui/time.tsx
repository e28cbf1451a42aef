import { locale, unit } from '../words/language.ts'
import { say } from '../words/words.ts'
import { serviceNow } from './service-time.ts'

const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })

const minutes = { unit: 'minute', ms: 60_000 } as const
const units: readonly { unit: Intl.RelativeTimeFormatUnit; ms: number }[] = [
  { unit: 'year', ms: 365 * 86_400_000 },
  { unit: 'month', ms: 30 * 86_400_000 },
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  minutes,
]

/** Shows how long ago or ahead a time is. The exact time is next to that, or in a tooltip. */
export function Time({ at, isExact = false }: { at: number; isExact?: boolean }) {
  const text = exact.format(at)
  return (
    <time dateTime={new Date(at).toISOString()} title={text}>
      {isExact ? `${fromNow(at)}, ${text}` : fromNow(at)}
    </time>
  )
}

export function exactTime(at: number): string {
  return exact.format(at)
}

/** A text such as "2 hours ago" or "in 30 days". */
function fromNow(at: number): string {
  const ms = at - serviceNow()
  const fit = unitOf(ms)
  return fit ? relative.format(Math.round(ms / fit.ms), fit.unit) : say.ui.momentAgo
}

/** A duration in its largest unit, such as "3 days". */
export function durationText(ms: number): string {
  const fit = unitOf(ms) ?? minutes
  return unit(Math.round(Math.abs(ms) / fit.ms), fit.unit)
}

function unitOf(ms: number) {
  return units.find((one) => Math.abs(ms) >= one.ms)
}
