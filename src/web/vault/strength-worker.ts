/** Judges passphrases in a thread of its own: the dictionaries take half a second to read, a long passphrase takes longer. */
import { judge, type PassphraseStrength } from '../../client/crypto/judge.ts'

/** A question to the thread that judges. */
export interface Question {
  passphrase: string
  /** The words of the person and of this service, which somebody who knows them would try first. */
  known: readonly string[]
}

const thread = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: { data: Question }) => void): void
  postMessage(strength: PassphraseStrength): void
}

thread.addEventListener('message', ({ data: { passphrase, known } }) => thread.postMessage(judge(passphrase, known)))
