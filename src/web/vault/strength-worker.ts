/** Judges passphrases in a worker: loading the dictionaries takes half a second, and judging may take longer. */
import { translations } from '@zxcvbn-ts/language-en'
import { judge, type PassphraseStrength } from '../../client/crypto/judge.ts'

/** A question for this worker. */
export interface Question {
  passphrase: string
  /** Words of the person and this service, which an attacker would try first. */
  known: readonly string[]
}

type Warning = keyof typeof translations.warnings
type Suggestion = keyof typeof translations.suggestions

/** Each piece of advice has a name, by which the page translates it, and the English text. */
export interface Judgement extends Pick<PassphraseStrength, 'level'> {
  warnings: readonly (readonly [Warning, text: string])[]
  suggestions: readonly (readonly [Suggestion, text: string])[]
}

const thread = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: { data: Question }) => void): void
  postMessage(judgement: Judgement): void
}

thread.addEventListener('message', ({ data: { passphrase, known } }) => {
  const { level, advice } = judge(passphrase, known)
  const { warnings, suggestions } = translations
  thread.postMessage({ level, warnings: given(warnings, advice), suggestions: given(suggestions, advice) })
})

function given<Name extends string>(texts: Record<Name, string>, advice: readonly string[]): [Name, string][] {
  return (Object.entries(texts) as [Name, string][]).filter(([, text]) => advice.includes(text))
}
