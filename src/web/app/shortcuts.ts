import { useLayoutEffect } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { addAll } from '../library/actions.ts'
import { addHere, capture, defaultsForNew, openNew } from '../library/editor.tsx'
import { addressIn } from '../library/links.ts'
import { go } from '../session/route.ts'
import { areSingleKeysOn } from '../settings/single-keys.ts'
import { tellFailure } from '../ui/failure.ts'
import { shortcutOf } from '../ui/keyboard.ts'
import { redoLast, undoLast } from '../ui/tell.ts'

/** Keys that work outside of fields, dialogs and menus. Ctrl+K works in fields, too. */
export function useShortcuts(sync: Sync, openCommandBar: () => void): void {
  useLayoutEffect(() => {
    const actions: Record<string, () => void> = {
      '/': openCommandBar,
      n: () => addHere(sync),
      f: () => openNew(sync, defaultsForNew(sync)),
      '?': () => go('shortcuts'),
    }
    const undo = () => undoLast().catch(tellFailure)
    const redo = () => redoLast().catch(tellFailure)
    const commands: Record<string, () => void> = { k: openCommandBar, z: undo, Z: redo, y: redo }
    const press = (event: KeyboardEvent) => {
      const isCommand = event.ctrlKey || event.metaKey
      const key = shortcutOf(event)
      const isTaken = isCovered(event) || (isIn(event, fields) && !(isCommand && key === 'k'))
      if (isTaken || event.altKey || event.defaultPrevented) return
      if (!isCommand && !areSingleKeysOn()) return
      const action = isCommand ? commands[key] : actions[key]
      if (!action) return
      event.preventDefault()
      action()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [sync])
}

/** Saves addresses pasted outside of fields, if the text has nothing else. For a single one, its form opens. */
export function useCapture(sync: Sync): void {
  useLayoutEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const isTyping = isCovered(event) || isIn(event, fields)
      const text = event.clipboardData?.getData('text/plain').trim() ?? ''
      const urls = text.split(/\s+/).flatMap((word) => addressIn(word) ?? [])
      const [url] = urls
      if (isTyping || url === undefined || urls.length < text.split(/\s+/).length) return
      event.preventDefault()
      const saved =
        urls.length === 1 ? capture(sync, url, defaultsForNew(sync)) : addAll(sync, urls, defaultsForNew(sync))
      saved.catch(tellFailure)
    }
    document.addEventListener('paste', paste)
    return () => document.removeEventListener('paste', paste)
  }, [sync])
}

const fields = 'input:not([type=checkbox]), select, textarea'

/** True if a dialog is open or the focus is in a menu, which then handles the keys. */
function isCovered(event: Event): boolean {
  return document.querySelector('dialog[open]') !== null || isIn(event, '[role=menu]')
}

/** Ignores a closed dialog, which keeps the focus for a moment. */
function isIn({ target }: Event, places: string): boolean {
  return target instanceof HTMLElement && target.closest(places) !== null && !target.closest('dialog:not([open])')
}
