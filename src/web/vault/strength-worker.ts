/** Judges passphrases in a thread of its own: the dictionaries take half a second to read, a long passphrase takes longer. */
import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common'
import { dictionary as english, translations } from '@zxcvbn-ts/language-en'

/** A question to the thread that judges. */
export interface Question {
  passphrase: string
  /** Words that somebody who knows the person or this service would try first. */
  known: readonly string[]
}

/** Its answer. */
export interface Estimate {
  /** How many passphrases a program would try before it comes to this one. */
  guesses: number
  /** Why it is weak, and what to do, in sentences. */
  advice: readonly string[]
}

const thread = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: { data: Question }) => void): void
  postMessage(estimate: Estimate): void
}

/** Further characters make no passphrase weaker, and would take seconds. */
const mostCharacters = 100

const estimator = new ZxcvbnFactory({
  dictionary: { ...common, ...english },
  graphs: adjacencyGraphs,
  translations,
})

thread.addEventListener('message', ({ data: { passphrase, known } }) => {
  const { guesses, feedback } = estimator.check(passphrase.slice(0, mostCharacters), [...known])
  const advice = new Set([feedback.warning ?? [], feedback.suggestions].flat())
  thread.postMessage({ guesses, advice: [...advice] })
})
