import { useEffect, useRef } from 'preact/hooks'
import { go, readRoute, useRoute } from '../app/route.ts'
import { useSingleKeys } from '../app/single-keys.ts'
import { Icon } from '../ui/icon.tsx'
import { SearchIcon } from '../ui/icons.ts'

/** Searches while somebody types. Emptied, it leads back to where they were. */
export function SearchBox() {
  const { view, rest } = useRoute()
  const input = useRef<HTMLInputElement>(null)
  const before = useRef({ view: 'folder', rest: '' })
  useEffect(() => {
    if (view !== 'search') before.current = { view, rest }
    // Also after "back". What is being typed is in the address already, maybe before it was drawn.
    const { view: now, rest: query } = readRoute(location.hash)
    const shown = now === 'search' ? query : ''
    if (input.current && input.current.value !== shown) input.current.value = shown
  }, [view, rest])
  const search = (text: string) => {
    const back = before.current
    if (text.trim() === '') go(back.view, back.rest, { replace: true })
    else go('search', text, { replace: view === 'search' })
  }
  return (
    <search class="search">
      <Icon of={SearchIcon} />
      <input
        ref={input}
        type="search"
        placeholder="Search"
        aria-label="Search your bookmarks"
        defaultValue={view === 'search' ? rest : ''}
        onInput={(event) => search(event.currentTarget.value)}
      />
      {useSingleKeys() && <kbd>/</kbd>}
    </search>
  )
}
