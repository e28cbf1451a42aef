import { useState } from 'preact/hooks'
import { placeBefore } from '../app/session.ts'
import { Button } from '../ui/button.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { serviceNow } from '../ui/service-time.ts'
import { exactTime } from '../ui/time.tsx'

interface ChooseTimeProps {
  isBusy: boolean
  choose: (to: number) => unknown
}

const hour = 3_600_000

const usual: readonly { label: string; ms: number }[] = [
  { label: 'An hour ago', ms: hour },
  { label: 'Yesterday, this time', ms: 24 * hour },
  { label: 'A week ago', ms: 7 * 24 * hour },
]

/** A usual time with one click, or any date and time. */
export function ChooseTime({ isBusy, choose }: ChooseTimeProps) {
  const place = Number(localStorage.getItem(placeBefore))
  const [fault, setFault] = useState<string>()
  const submit = ({ date = '' }: Record<string, string>) => {
    const to = new Date(date).getTime()
    if (Number.isNaN(to)) return setFault('Enter a date and a time')
    if (to > serviceNow()) return setFault('This is in the future')
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
        {place > 0 && (
          <Button disabled={isBusy} title={exactTime(place)} onClick={() => choose(place)}>
            Before I last went back
          </Button>
        )}
      </div>
      <Form class="choose-time" onSubmit={submit}>
        <Field
          label="Or to this date and time"
          name="date"
          type="datetime-local"
          defaultValue={localTime(serviceNow() - hour)}
          required
          error={fault}
          onInput={() => setFault(undefined)}
        />
        <button type="submit" class="button">
          <span>Count what would change</span>
        </button>
      </Form>
    </div>
  )
}

/** It is exact, which a time that somebody enters is not: going back there takes back the last going back, and nothing else. */
export function rememberPlace(before: number): void {
  localStorage.setItem(placeBefore, String(before))
}

/** As the input has it: local, to the minute. */
function localTime(at: number): string {
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
