import { useEffect, useMemo } from 'preact/hooks'
import type { Judgement, Question } from './strength-worker.ts'

/**
 * Options with which the client package accepts every passphrase but ''. It would judge in the page's thread, and block the
 * page. So the page judges passphrases before, in a worker.
 */
export const judgedHere = { fewestGuesses: 0 }

interface Judge {
  /** Starts loading the dictionaries, if they are not loaded yet. */
  prepare(): void
  /** Undefined if a newer question replaced this one, `prepare` was not called, or the dictionaries cannot be loaded. */
  judge(question: Question): Promise<Judgement | undefined>
}

/** Judges passphrases while the component is shown. */
export function useJudge(): Judge {
  const judge = useMemo(createJudge, [])
  useEffect(() => judge.end, [judge])
  return judge
}

interface Waiting {
  question: Question
  answer: (judgement: Judgement | undefined) => void
}

function createJudge(): Judge & { end(): void } {
  let thread: Worker | undefined
  let asked: Waiting | undefined
  /** The newest question, while the worker is busy with an older one. */
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
      thread.addEventListener('message', ({ data }: MessageEvent<Judgement>) => {
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
