import { useEffect, useMemo } from 'preact/hooks'
import type { Judgement, Question } from './strength-worker.ts'

/**
 * Options for the client package, which would judge in the page's thread and block it. The page judges before, in its
 * worker, so the client accepts everything.
 */
export const judgedHere = { fewestGuesses: 0 }

interface Judge {
  /** Loads the dictionaries, unless they are loaded. */
  prepare(): void
  /** Undefined if a newer question replaced this one, or if the dictionaries cannot be loaded. */
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
  /** The newest question, while the thread is busy with the one before. */
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
