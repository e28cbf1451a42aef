import { useEffect, useMemo } from 'preact/hooks'
import type { Estimate, Question } from './strength-worker.ts'

export type Level = 'refused' | 'weak' | 'good' | 'strong'

/** Each is one of Argon2id, which makes it slow, but whoever has the keyring can try for years, on many machines. */
const fewestGuesses = { weak: 1e8, good: 1e10, strong: 1e14 }

export function levelOf({ guesses }: Estimate): Level {
  if (guesses < fewestGuesses.weak) return 'refused'
  if (guesses < fewestGuesses.good) return 'weak'
  return guesses < fewestGuesses.strong ? 'good' : 'strong'
}

interface Judge {
  /** Loads the dictionaries, unless they are there. */
  prepare(): void
  /** Undefined if another passphrase was asked about meanwhile, or if the dictionaries cannot be loaded. */
  judge(question: Question): Promise<Estimate | undefined>
}

/** Judges passphrases for as long as the component is shown. */
export function useJudge(): Judge {
  const judge = useMemo(createJudge, [])
  useEffect(() => judge.end, [judge])
  return judge
}

interface Waiting {
  question: Question
  answer: (estimate: Estimate | undefined) => void
}

function createJudge(): Judge & { end(): void } {
  let thread: Worker | undefined
  let asked: Waiting | undefined
  /** The last text, while the thread is busy with the one before. */
  let next: Waiting | undefined

  const ask = (waiting: Waiting | undefined) => {
    asked = waiting
    next = undefined
    if (waiting) thread?.postMessage(waiting.question)
  }
  const end = () => {
    thread?.terminate()
    thread = undefined
    for (const waiting of [asked, next]) waiting?.answer(undefined)
    ask(undefined)
  }
  return {
    prepare() {
      if (thread) return
      thread = new Worker('/demo/strength.js', { type: 'module' })
      thread.addEventListener('message', ({ data }: MessageEvent<Estimate>) => {
        asked?.answer(data)
        ask(next)
      })
      thread.addEventListener('error', end)
    },
    judge(question) {
      if (!thread) return Promise.resolve(undefined)
      return new Promise((answer) => {
        next?.answer(undefined)
        const waiting = { question, answer }
        if (asked) next = waiting
        else ask(waiting)
      })
    },
    end,
  }
}
