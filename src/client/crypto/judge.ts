/** Judges passphrases. Loaded when one is chosen, because the dictionaries are larger than the package. */
import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common'
import { dictionary as english, translations } from '@zxcvbn-ts/language-en'

/** How hard a passphrase is to guess. */
export interface PassphraseStrength {
  /** An estimate of how many other passphrases a program would try first. */
  guesses: number
  /** Fewer than 10⁸ `guesses`: refused, fewer than 10¹⁰: weak, fewer than 10¹⁴: good, otherwise strong. */
  level: 'refused' | 'weak' | 'good' | 'strong'
  /** Why it is weak, and what to do, in English sentences. */
  advice: readonly string[]
}

/** The fewest guesses of each level. Each guess takes one run of Argon2id, but an attacker who has the keyring can try for years. */
const fewestGuesses = { weak: 1e8, good: 1e10, strong: 1e14 }

/** Only the first characters are judged: more cannot make a passphrase weaker, and would take seconds. */
const mostCharacters = 100

const service = 'encrypted bookmark sync'

/** Famous examples that no dictionary of words contains. */
const famous = ['correct horse battery staple', 'correcthorsebatterystaple', 'correct-horse-battery-staple']

let estimator: ZxcvbnFactory | undefined

/** @param known texts about the person, whose words an attacker tries first */
export function judge(passphrase: string, known: readonly string[]): PassphraseStrength {
  estimator ??= new ZxcvbnFactory({ dictionary: { ...common, ...english }, graphs: adjacencyGraphs, translations })
  const words = [service, ...known].flatMap((text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  // The keyring uses the normalized passphrase.
  const text = passphrase.normalize('NFKC').slice(0, mostCharacters)
  const { guesses, feedback } = estimator.check(text, [...famous, ...words.filter((word) => word.length > 2)])
  const advice = new Set([feedback.warning ?? [], feedback.suggestions].flat())
  return { guesses, level: levelOf(guesses), advice: [...advice] }
}

function levelOf(guesses: number): PassphraseStrength['level'] {
  if (guesses < fewestGuesses.weak) return 'refused'
  if (guesses < fewestGuesses.good) return 'weak'
  return guesses < fewestGuesses.strong ? 'good' : 'strong'
}
