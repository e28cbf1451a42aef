import { useLayoutEffect, useRef } from 'preact/hooks'

/**
 * True after the page has stopped acting for its person: their session has ended, or somebody else has signed in in
 * this browser. Dialogs close, and the page does nothing more for this person. Only a reload starts again.
 */
let isOver = false
const works = new Set<() => void>()

export function hasLeft(): boolean {
  return isOver
}

export function leavePerson(): void {
  isOver = true
  for (const work of works) work()
}

/** Runs the work when the page stops acting for its person. Returns a function that cancels it. */
export function whenLeaving(work: () => void): () => void {
  works.add(work)
  return () => works.delete(work)
}

/** Like `whenLeaving`, while the component is shown. */
export function useLeaving(work: () => void): void {
  const latest = useRef(work)
  latest.current = work
  useLayoutEffect(() => whenLeaving(() => latest.current()), [])
}
