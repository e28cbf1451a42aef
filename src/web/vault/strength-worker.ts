/** Judges passphrases in a thread of its own: the dictionaries take half a second to read, a long passphrase takes longer. */
import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common'
import { dictionary as english, translations } from '@zxcvbn-ts/language-en'
import type { Estimate, Question } from './strength.ts'

const thread = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: { data: Question }) => void): void
  postMessage(estimate: Estimate): void
}

/** What comes after so many characters makes no passphrase weaker, and would take seconds. */
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
