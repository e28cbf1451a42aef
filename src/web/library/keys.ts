import type { TargetedKeyboardEvent } from 'preact'
import type { Sync } from '../../client/index.ts'
import { tell } from '../ui/tell.ts'
import { moveBefore } from './actions.ts'
import { openEditor } from './editor.tsx'
import { focusRow } from './focus.ts'
import { openMove } from './move-dialog.tsx'
import type { Selected } from './selected.ts'
import { openTags } from './tags-dialog.tsx'

interface KeyParts {
  sync: Sync
  ids: readonly string[]
  selected: Selected
  /** The folder that is shown in the person's own order: there bookmarks can be moved up and down. */
  folder: { id: string | undefined } | undefined
  remove: (ids: readonly string[]) => Promise<void>
}

type KeyEvent = TargetedKeyboardEvent<HTMLElement>

/** What the keys do in a list: see the list of shortcuts. */
export function pressed(event: KeyEvent, parts: KeyParts): void {
  const { target } = event
  if (!(target instanceof HTMLElement) || target.closest('dialog, [role=menu], input:not([type=checkbox])')) return
  const id = target.closest<HTMLElement>('li[data-id]')?.dataset.id
  const action = actionOf(event, parts, id)
  if (!action) return
  event.preventDefault()
  Promise.resolve(action()).catch((error: Error) => tell(error.message, { isAlert: true }))
}
type Action = (() => unknown) | undefined

function actionOf(event: KeyEvent, parts: KeyParts, id: string | undefined): Action {
  const { selected, ids } = parts
  if (event.ctrlKey || event.metaKey) return event.key === 'a' ? selected.all : undefined
  if (event.key === 'Escape') return selected.ids.size > 0 ? selected.clear : undefined
  if (id === undefined) return undefined
  const index = ids.indexOf(id)
  const step = stepOf(event)
  if (event.altKey) return step === undefined ? undefined : () => moveBy(event.currentTarget, parts, index, step)
  if (step !== undefined) return () => walk(event, parts, index, step)
  return keyActions(parts, id)[event.key]
}

function keyActions({ sync, selected, remove }: KeyParts, id: string): Record<string, Action> {
  const ids = selected.ids.size > 0 ? [...selected.ids] : [id]
  const bookmark = sync.get(id)
  return {
    x: () => selected.toggle(id),
    e: () => bookmark && openEditor(sync, bookmark),
    m: () => openMove(sync, ids),
    t: () => openTags(sync, ids),
    Delete: () => remove(ids),
  }
}

function stepOf({ key, currentTarget }: KeyEvent): number | undefined {
  const columns = Number(currentTarget.querySelector<HTMLElement>('[data-columns]')?.dataset.columns ?? 1)
  const steps: Record<string, number> = { ArrowDown: columns, ArrowUp: -columns }
  if (columns > 1) Object.assign(steps, { ArrowRight: 1, ArrowLeft: -1 })
  return steps[key]
}

/** To another row; with Shift, both are selected. */
function walk({ shiftKey, currentTarget }: KeyEvent, { ids, selected }: KeyParts, index: number, step: number): void {
  const next = Math.max(0, Math.min(ids.length - 1, index + step))
  const ends = [ids[index] as string, ids[next] as string]
  for (const id of shiftKey ? ends : []) if (!selected.ids.has(id)) selected.toggle(id)
  focusRow(currentTarget, ids[next] as string)
}

/** Before the one above, or before the one after the one below. */
async function moveBy(list: HTMLElement, { sync, ids, folder }: KeyParts, index: number, step: number): Promise<void> {
  const before = step < 0 ? index + step : index + step + 1
  if (!folder || before < 0 || before > ids.length) return
  const id = ids[index] as string
  await moveBefore(sync, [id], folder.id, ids[before])
  focusRow(list, id)
}
