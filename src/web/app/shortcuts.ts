import { useLayoutEffect } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { capture, type FirstEntries, openNew } from '../library/editor.tsx'
import { addressIn } from '../library/links.ts'
import { tellFailure } from '../ui/failure.ts'
import { sharedValue } from '../ui/shared-value.ts'
import { undoLast } from '../ui/tell.ts'
import { go, readRoute } from './route.ts'

/** What a key works on. */
interface Parts {
  sync: Sync
  openCommandBar: () => void
}

/** Keys that work wherever nobody types; Ctrl+K also there. */
export function useShortcuts({ sync, openCommandBar }: Parts): void {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isCommand = event.ctrlKey || event.metaKey
      const isTaken = isIn(event, layers) || (isIn(event, fields) && !(isCommand && event.key === 'k'))
      if (isTaken || event.altKey || event.defaultPrevented) return
      if (!isCommand && !areSingleKeysOn()) return
      const action = isCommand ? commands[event.key] : actions[event.key]
      if (!action) return
      event.preventDefault()
      action({ sync, openCommandBar })
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [sync])
}

/** An address that is pasted where nobody types is saved. */
export function useCapture(sync: Sync): void {
  useLayoutEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const isTyping = isIn(event, `${fields}, dialog`)
      const url = isTyping ? undefined : addressIn(event.clipboardData?.getData('text/plain') ?? '')
      if (url === undefined) return
      event.preventDefault()
      capture(sync, url, hereOf(sync)).catch(tellFailure)
    }
    document.addEventListener('paste', paste)
    return () => document.removeEventListener('paste', paste)
  }, [sync])
}

const fields = 'input:not([type=checkbox]), select, textarea'
const layers = 'dialog, [role=menu]'

/** A dialog that was just closed has the focus for a moment longer. */
function isIn({ target }: Event, places: string): boolean {
  return target instanceof HTMLElement && target.closest(places) !== null && !target.closest('dialog:not([open])')
}

const actions: Record<string, (parts: Parts) => void> = {
  '/': ({ openCommandBar }) => openCommandBar(),
  n: ({ sync }) => addHere(sync),
  f: ({ sync }) => openNew(sync, hereOf(sync)),
  '?': () => go('shortcuts'),
}

const commands: Record<string, (parts: Parts) => void> = {
  k: ({ openCommandBar }) => openCommandBar(),
  z: () => undoLast().catch(tellFailure),
}

/** Shows the form of a new bookmark. */
export function addHere(sync: Sync, url = ''): void {
  openNew(sync, { url, ...hereOf(sync) })
}

/** A new bookmark goes into the folder that is shown, or has the tag whose bookmarks are. */
export function hereOf(sync: Sync): Pick<FirstEntries, 'parentId' | 'tags'> {
  const { view, rest } = readRoute(location.hash)
  if (view === 'tag') return { tags: [rest] }
  return view === 'folder' && sync.get(rest) ? { parentId: rest } : {}
}

const stored = 'single-keys'

/** The choice since the page was loaded. */
const chosen = sharedValue<boolean | undefined>(undefined)

/**
 * True if `/`, `n`, `f` and `?` work wherever nobody types. Who speaks to the computer, or hits keys by accident, turns them
 * off for this browser (WCAG 2.1.4). The keys of a list work while the focus is in it, and need no switch.
 */
function areSingleKeysOn(): boolean {
  return chosen.get() ?? isStoredOn()
}

export function useSingleKeys(): boolean {
  return chosen.use() ?? isStoredOn()
}

export function setSingleKeys(on: boolean): void {
  localStorage.setItem(stored, on ? 'on' : 'off')
  chosen.set(on)
}

function isStoredOn(): boolean {
  return localStorage.getItem(stored) !== 'off'
}
