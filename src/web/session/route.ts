import { useSyncExternalStore } from 'preact/compat'
import { newEntry } from './entries.ts'

/** The view in the address: `#/folder/0199…` is `folder` with the id `0199…`. Browsers do not send this part. */
interface Route {
  view: string
  /** The part after the view's name, decoded; empty if there is none. */
  rest: string
}

/** The address of a view, for links. */
export function hrefOf(view: string, rest = ''): string {
  return `#/${view}${rest === '' ? '' : `/${encodeURIComponent(rest)}`}`
}

/** Goes to a view. With `replace`, "back" does not return to the previous view. */
export function go(view: string, rest = '', { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](newEntry(), '', hrefOf(view, rest))
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export function useRoute(): Route {
  return readRoute(useSyncExternalStore(subscribe, () => location.hash))
}

export function readRoute(hash: string): Route {
  const [mark, view = '', ...rest] = hash.split('/')
  return mark === '#' ? { view, rest: decoded(rest.join('/')) } : { view: '', rest: '' }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function subscribe(listener: () => void): () => void {
  const events = ['hashchange', 'popstate']
  for (const event of events) addEventListener(event, listener)
  return () => {
    for (const event of events) removeEventListener(event, listener)
  }
}
