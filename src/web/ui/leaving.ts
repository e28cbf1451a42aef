import { useLayoutEffect, useRef } from 'preact/hooks'

/**
 * The page acts for one person. Once their session has ended, or somebody else has signed in, the page leaves them: dialogs
 * close, and nothing more is done for them in it. Only a reload starts over.
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

/** Runs the work as soon as the page leaves its person. Returns what takes it back. */
export function whenLeaving(work: () => void): () => void {
  works.add(work)
  return () => works.delete(work)
}

/** The same for as long as the component is shown. */
export function useLeaving(work: () => void): void {
  const latest = useRef(work)
  latest.current = work
  useLayoutEffect(() => whenLeaving(() => latest.current()), [])
}
