/** Judges passphrases in a thread of its own: the dictionaries take half a second to read, a long passphrase takes longer. */
import { translations } from '@zxcvbn-ts/language-en'
import { judge, type PassphraseStrength } from '../../client/crypto/judge.ts'

/** A question to the thread that judges. */
export interface Question {
  passphrase: string
  /** The words of the person and of this service, which somebody who knows them would try first. */
  known: readonly string[]
}

/** Advice by its names, for the page to say it in its language. */
export interface Judgement extends Pick<PassphraseStrength, 'level'> {
  warnings: readonly (keyof typeof translations.warnings)[]
  suggestions: readonly (keyof typeof translations.suggestions)[]
}

const thread = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: { data: Question }) => void): void
  postMessage(judgement: Judgement): void
}

thread.addEventListener('message', ({ data: { passphrase, known } }) => {
  const { level, advice } = judge(passphrase, known)
  const { warnings, suggestions } = translations
  thread.postMessage({ level, warnings: namesIn(warnings, advice), suggestions: namesIn(suggestions, advice) })
})

function namesIn<T extends object>(texts: T, advice: readonly string[]): (keyof T)[] {
  return (Object.keys(texts) as (keyof T)[]).filter((name) => advice.includes(String(texts[name])))
}
