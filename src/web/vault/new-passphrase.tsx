import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Field, useCheck } from '../ui/form.tsx'
import { later } from '../words/later.ts'
import { useJudge } from './strength.ts'
import type { Judgement, Question } from './strength-worker.ts'

/** If the dictionaries have not loaded after this time (ms), only the length is judged. */
const patienceMs = 3000

/** Fields for a new passphrase, with its strength. The person types it twice, because nobody can reset it. */
export function NewPassphraseField({ person, autofocus = false }: { person: string; autofocus?: boolean }) {
  const [isShown, setShown] = useState(false)
  const [differs, setDiffers] = useState(false)
  const [strength, setStrength] = useState<Judgement>()
  const { prepare, judge } = useJudge()
  const typed = useRef('')
  const id = useId()
  const type = isShown ? 'text' : 'password'
  const compare = (form: HTMLFormElement | null) => {
    const [first, second] = ['passphrase', 'repeated'].map((name) => form?.elements.namedItem(name) as HTMLInputElement)
    if (!first || !second) return
    const isSame = first.value === second.value
    setDiffers(!isSame && second.value.length >= first.value.length)
    // The browser then refuses to send the form.
    second.setCustomValidity(isSame ? '' : later.vault.differ)
  }
  const weigh = async (passphrase: string) => {
    typed.current = passphrase
    if (passphrase === '') return setStrength(undefined)
    const strength = await judge(questionOf(passphrase, person))
    if (strength && typed.current !== '') setStrength(strength)
  }
  useCheck('passphrase', async (passphrase) => {
    const patience = new Promise<undefined>((resolve) => setTimeout(resolve, patienceMs, undefined))
    const strength = await Promise.race([judge(questionOf(passphrase, person)), patience])
    if (strength?.level !== 'refused') return undefined
    setStrength(strength)
    return later.vault.tooEasy
  })
  // `autofocus` focuses the field before `onFocus` is attached.
  useEffect(() => {
    if (autofocus) prepare()
  }, [])
  return (
    <>
      <Field
        label={later.vault.newPassphrase}
        name="passphrase"
        isSecret
        type={type}
        required
        minLength={8}
        autocomplete="new-password"
        autofocus={autofocus}
        hint={later.vault.passphraseHint}
        onFocus={prepare}
        onInput={({ currentTarget }) => {
          compare(currentTarget.form)
          void weigh(currentTarget.value)
        }}
      />
      {strength ? <StrengthMeter strength={strength} /> : <div class="strength" />}
      <Field
        label={later.vault.repeatPassphrase}
        name="repeated"
        isSecret
        type={type}
        required
        autocomplete="new-password"
        error={differs ? later.vault.differ : undefined}
        onInput={({ currentTarget }) => compare(currentTarget.form)}
      />
      <label class="bar" for={id}>
        <input id={id} type="checkbox" checked={isShown} onChange={() => setShown(!isShown)} />
        {later.vault.showPassphrase}
      </label>
    </>
  )
}

function questionOf(passphrase: string, person: string): Question {
  return { passphrase, known: [person, location.host] }
}

const levels: readonly Judgement['level'][] = ['refused', 'weak', 'good', 'strong']

/** Milliseconds after the last key before a screen reader announces the strength. */
const pauseMs = 1000

/** A passphrase's strength in words and as a bar, and how to improve it. */
function StrengthMeter({ strength }: { strength: Judgement }) {
  const { level } = strength
  const verdict = later.vault.verdicts[level]
  const isWeak = level === 'refused' || level === 'weak'
  const advice = isWeak ? adviceOf(strength) : ''
  const text = later.vault.strength(verdict, advice)
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
        <strong>{verdict}.</strong> {advice}
      </p>
      <p class="unseen" role="status">
        {said}
      </p>
    </div>
  )
}

/** Why a passphrase is weak, and what to do. */
function adviceOf({ warnings, suggestions }: Judgement): string {
  const texts = [
    ...warnings.map(([name, text]) => later.vault.warning(name, text)),
    ...suggestions.map(([name, text]) => later.vault.suggestion(name, text)),
  ]
  return texts.join(' ') || later.vault.addWords
}
