import type { RefObject } from 'preact'
import { type Inputs, useEffect, useLayoutEffect } from 'preact/hooks'
import { v7 as uuidv7 } from 'uuid'

/** How far each entry of the browser's history is scrolled. */
const scrolled = new Map<string, number>()
let shown = ''

/** A new place is shown from its top; "back" and "forward" lead to where the person was in it. The inputs name the place. */
export function useScroll(scroller: RefObject<HTMLElement | null>, inputs: Inputs): void {
  useLayoutEffect(() => {
    shown = entryId()
    scroller.current?.scrollTo(0, scrolled.get(shown) ?? 0)
  }, inputs)
  useEffect(() => {
    const element = scroller.current
    const remember = () => scrolled.set(shown, element?.scrollTop ?? 0)
    element?.addEventListener('scroll', remember, { passive: true })
    return () => element?.removeEventListener('scroll', remember)
  }, [])
}

/** The browser keeps it with the entry, also over a reload. */
function entryId(): string {
  const known: unknown = history.state
  if (typeof known === 'string') return known
  const id = uuidv7()
  history.replaceState(id, '')
  return id
}
