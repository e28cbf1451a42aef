import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { tellFailure } from '../ui/failure.ts'
import { isApple, shortcutOf } from '../ui/keyboard.ts'
import { moveBefore } from './actions.ts'
import { openEditor } from './editor.tsx'
import { focusRow } from './reveal.ts'
import { openTags } from './tags.tsx'

interface KeyParts {
  sync: Sync
  ids: readonly string[]
  selected: Selected
  /** Set if a folder is shown in the person's own order: bookmarks can be moved up and down. */
  folder: { id: string | undefined } | undefined
  remove: (ids: readonly string[]) => Promise<void>
  move: (ids: readonly string[]) => void
}

type KeyEvent = TargetedKeyboardEvent<HTMLElement>

/** Handles the keys of a list, which settings/shortcuts.tsx explains to the person. */
export function handleKeys(event: KeyEvent, parts: KeyParts): void {
  const { target } = event
  if (!(target instanceof HTMLElement) || target.closest('dialog, [role=menu], input:not([type=checkbox])')) return
  const id = target.closest<HTMLElement>('li[data-id]')?.dataset.id
  const action = actionOf(event, parts, id)
  if (!action) return
  event.preventDefault()
  Promise.resolve(action()).catch(tellFailure)
}
type Action = (() => unknown) | undefined

function actionOf(event: KeyEvent, parts: KeyParts, id: string | undefined): Action {
  const { selected } = parts
  if (event.ctrlKey || event.metaKey) return shortcutOf(event) === 'a' ? selected.all : undefined
  if (event.key === 'Escape') return selected.ids.size > 0 ? selected.clear : undefined
  if (id === undefined) return undefined
  const action = rowAction(event, parts, id)
  // The item has the focus because the previous one was removed (`keepFocus`). The first key only shows the focus.
  const isArrived = (event.target as HTMLElement).matches('li')
  return action && isArrived ? () => focusRow(event.currentTarget, id) : action
}

function rowAction(event: KeyEvent, parts: KeyParts, id: string): Action {
  const index = parts.ids.indexOf(id)
  const step = stepOf(event)
  if (event.altKey) return step === undefined ? undefined : () => moveBy(event.currentTarget, parts, index, step)
  if (step !== undefined) return () => walk(event, parts, index, step)
  return keyActions(parts, id)[shortcutOf(event)]
}

function keyActions({ sync, selected, remove, move }: KeyParts, id: string): Record<string, Action> {
  const ids = selected.ids.size > 0 ? [...selected.ids] : [id]
  const bookmark = sync.get(id)
  return {
    x: () => selected.toggle(id),
    e: () => bookmark && openEditor(sync, bookmark),
    m: () => move(ids),
    t: () => openTags(sync, ids),
    Delete: () => remove(ids),
    // Apple's laptops have no Delete key.
    ...(isApple() && { Backspace: () => remove(ids) }),
  }
}

function stepOf({ key, currentTarget }: KeyEvent): number | undefined {
  const columns = Number(currentTarget.querySelector<HTMLElement>('[data-columns]')?.dataset.columns ?? 1)
  const steps: Record<string, number> = { ArrowDown: columns, ArrowUp: -columns }
  if (columns > 1) Object.assign(steps, { ArrowRight: 1, ArrowLeft: -1 })
  return steps[key]
}

/** Focuses another row. With Shift, selects everything from the row where the person began to use Shift. */
function walk({ shiftKey, currentTarget }: KeyEvent, { ids, selected }: KeyParts, index: number, step: number): void {
  const next = Math.max(0, Math.min(ids.length - 1, index + step))
  if (shiftKey) selected.reach(ids[index] as string, ids[next] as string)
  focusRow(currentTarget, ids[next] as string)
}

/** Moves a bookmark one place or, with the up and down keys among cards, one line of cards. */
async function moveBy(list: HTMLElement, { sync, ids, folder }: KeyParts, index: number, step: number): Promise<void> {
  const before = step < 0 ? index + step : index + step + 1
  if (!folder || before < 0 || before > ids.length) return
  const id = ids[index] as string
  await moveBefore(sync, [id], folder.id, ids[before])
  focusRow(list, id)
}

/** The selected bookmarks of a list. */
export interface Selected {
  ids: ReadonlySet<string>
  /** @param isRange selects everything from the last toggled row up to this one */
  toggle(id: string, isRange?: boolean): void
  /** Extends the selection to the second id, from the row where the person began to use Shift. */
  reach(from: string, to: string): void
  all(): void
  clear(): void
}

/** @param ids in the list's order */
export function useSelected(ids: readonly string[]): Selected {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(none)
  const latest = useRef(ids)
  latest.current = ids
  const anchor = useRef<string>(undefined)
  const walked = useRef({ start: '', end: '' })
  const actions = useMemo(
    () => ({
      toggle(id: string, isRange = false) {
        const { current: ids } = latest
        const [from, to] = [ids.indexOf(anchor.current ?? ''), ids.indexOf(id)].sort((one, other) => one - other)
        setChosen((before) => {
          const next = new Set(before)
          if (isRange && from !== undefined && to !== undefined && from >= 0) {
            for (const one of ids.slice(from, to + 1)) next.add(one)
          } else if (!next.delete(id)) next.add(id)
          return next
        })
        anchor.current = id
      },
      reach(from: string, to: string) {
        const { current: ids } = latest
        const { start: first, end: last } = walked.current
        const start = last === from ? first : from
        const range = (end: string) => {
          const [low = 0, high = 0] = [ids.indexOf(start), ids.indexOf(end)].sort((one, other) => one - other)
          return ids.slice(low, high + 1)
        }
        const given = new Set(range(from))
        walked.current = { start, end: to }
        setChosen((before) => new Set([...[...before].filter((id) => !given.has(id)), ...range(to)]))
      },
      all: () => setChosen(new Set(latest.current)),
      clear() {
        walked.current = { start: '', end: '' }
        setChosen(none)
      },
    }),
    [],
  )
  // A bookmark that has left the list is no longer selected, because the person cannot see it any more.
  const there = useMemo(() => (chosen.size === 0 ? none : new Set(ids.filter((id) => chosen.has(id)))), [ids, chosen])
  useEffect(() => {
    if (there.size < chosen.size) setChosen(there)
  }, [there, chosen])
  return { ids: there, ...actions }
}

const none: ReadonlySet<string> = new Set()

/** The remaining row nearest to the removed ones: the next one, or else the previous one. */
export function neighbourOf(ids: readonly string[], removed: readonly string[]): string | undefined {
  const gone = new Set(removed)
  const first = ids.findIndex((id) => gone.has(id))
  return (
    ids.slice(first).find((id) => !gone.has(id)) ?? ids.slice(0, Math.max(0, first)).findLast((id) => !gone.has(id))
  )
}
