import type { RefObject } from 'preact'
import { type Inputs, useEffect, useLayoutEffect } from 'preact/hooks'
import { v7 as uuidv7 } from 'uuid'

const stored = 'scrolled'
/** How far each entry of the browser's history is scrolled; kept in the tab when the page is left. */
const scrolled = new Map<string, number>()
let shown = ''

/** A new place is shown from its top; "back" and "forward" lead to where the person was in it. The inputs name the place. */
export function useScroll(scroller: RefObject<HTMLElement | null>, inputs: Inputs): void {
  useLayoutEffect(() => {
    const kept: [string, number][] = JSON.parse(sessionStorage.getItem(stored) ?? '[]')
    for (const [id, top] of kept) scrolled.set(id, top)
  }, [])
  useLayoutEffect(() => {
    shown = entryId()
    scroller.current?.scrollTo(0, scrolled.get(shown) ?? 0)
  }, inputs)
  useEffect(() => {
    const element = scroller.current
    const remember = () => scrolled.set(shown, element?.scrollTop ?? 0)
    const keep = () => sessionStorage.setItem(stored, JSON.stringify([...scrolled]))
    element?.addEventListener('scroll', remember, { passive: true })
    addEventListener('pagehide', keep)
    return () => {
      element?.removeEventListener('scroll', remember)
      removeEventListener('pagehide', keep)
    }
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
