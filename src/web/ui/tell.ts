import { say } from '../words/words.ts'
import { hasLeft, whenLeaving } from './leaving.ts'
import { sharedValue } from './shared-value.ts'

/** Options of a message at the bottom of the page. */
interface ToastOptions {
  /** True for an error: its message stays until it is closed or displaced, and screen readers announce it immediately. */
  isAlert?: boolean
  /** Undoes the action of the message. */
  undo?: () => unknown
  /** Redoes the action. If it is missing, redo is not offered, and `undo` always undoes everything. */
  redo?: () => Promise<Outcome>
  /** The undo button's label, if “Undo” does not say what it does. */
  undoName?: string
  /** True if the message reports an undo, or an undo or redo that did nothing. */
  isTakenBack?: boolean
  /** Shows what was added. */
  show?: () => unknown
  /** The ids of the bookmarks that the message is about. */
  about?: readonly string[]
  /** The id of a message that this one replaces, if it is the last: the new `undo` must undo both actions. */
  replaces?: number | undefined
}

/** How much was undone or redone. What somebody has changed meanwhile stays. */
export type Outcome = 'done' | 'partly' | 'not'

interface Toast extends ToastOptions {
  id: number
  text: string
  /** The step that the message offers to redo. */
  again?: Step | undefined
}

/** A user action that can be undone. */
interface Step {
  id: number
  text: string
  undo: () => unknown
  redo: (() => Promise<Outcome>) | undefined
  /** When the step was last done or undone, by `performance.now()`. */
  at: number
}

/** Milliseconds that a message stays: long enough to read or, with an Undo, to think. */
const shownMs = 10_000
const undoShownMs = 30_000
const maxShown = 3
/** The most actions that can be undone. */
const maxUndos = 50
/** Ctrl+Z undoes only actions of the last 10 minutes: one key press too many must not undo something forgotten. */
const keysReachMs = 600_000

const toasts = sharedValue<readonly Toast[]>([])
let lastId = 0
let undos: Step[] = []
let redos: Step[] = []

export const useToasts = toasts.use

// When the session ends, messages stay, even for the next person, except those that may name bookmarks.
whenLeaving(() => {
  undos = []
  redos = []
  toasts.set(toasts.get().filter((toast) => !mayName(toast)))
})

/** True if the message may contain the title of a bookmark. */
function mayName({ undo, isTakenBack, about }: ToastOptions): boolean {
  return undo !== undefined || isTakenBack === true || about !== undefined
}

/** Shows a message at the bottom of the page and announces it to screen readers. Returns its id. */
export function tell(text: string, options: ToastOptions = {}): number | undefined {
  const { undo, redo } = options
  if (undo) redos = []
  return show(text, options, undo && { text, undo, redo, at: performance.now() })
}

function show(text: string, options: ToastOptions & Pick<Toast, 'again'>, step?: Omit<Step, 'id'>): number | undefined {
  if (hasLeft() && mayName(options)) return undefined
  const toast = { id: ++lastId, text, ...options }
  // Also replaces the message of the previous action, which Ctrl+Z can still undo.
  const isStep = (one: ToastOptions) => one.undo !== undefined || one.isTakenBack === true
  const isReplaced = (other: Toast) => other.text === text || (isStep(other) && isStep(options))
  toasts.set([...toasts.get().filter((other) => !isReplaced(other)), toast].slice(-maxShown))
  // A result that arrives after the end of the session stays until the person closes it.
  if (!options.isAlert && !hasLeft()) setTimeout(() => dismiss(toast.id), options.undo ? undoShownMs : shownMs)
  if (isLastUndo(options.replaces)) undos.pop()
  if (step) undos = [...undos, { ...step, id: toast.id }].slice(-maxUndos)
  return toast.id
}

/** True if the message's action is the last that can be undone. */
export function isLastUndo(id: number | undefined): boolean {
  return id !== undefined && undos.at(-1)?.id === id
}

/** Reports a result whose dialog was closed because the session has ended. */
export function tellIfLeft(text: string): void {
  if (hasLeft()) tell(text)
}

/** Undoes the message's action, unless it has been undone already. */
export async function undo(id: number): Promise<void> {
  const step = undos.find((one) => one.id === id)
  if (!step) return
  undos = undos.filter((one) => one !== step)
  dismiss(id)
  const outcome = (await step.undo()) as Outcome
  if (!step.redo) return
  if (outcome === 'not') return void show(say.ui.notUndone(step.text), { isTakenBack: true })
  const again = { ...step, at: performance.now() }
  redos = [...redos, again]
  show(say.ui.undone(step.text, outcome === 'partly'), { isTakenBack: true, again })
}

export async function redo(step: Step): Promise<void> {
  if (!redos.includes(step)) return
  redos = redos.filter((one) => one !== step)
  const { text, undo } = step
  const outcome = await step.redo?.()
  if (outcome === 'not') return void show(say.ui.notRedone(text), { isTakenBack: true })
  show(say.ui.redone(text, outcome === 'partly'), { undo }, { ...step, at: performance.now() })
}

/** Undoes the last action of the last 10 minutes that has not been undone, even if its message is gone. */
export async function undoLast(): Promise<void> {
  const step = lastOf(undos)
  if (!step) return void tell(say.ui.nothingToUndo, { isTakenBack: true })
  await undo(step.id)
  if (!step.redo) tell(say.ui.undone(step.text, false), { isTakenBack: true })
}

/** Redoes the action that was undone last, if that was in the last 10 minutes. */
export async function redoLast(): Promise<void> {
  const step = lastOf(redos)
  if (step) await redo(step)
  else tell(say.ui.nothingToRedo, { isTakenBack: true })
}

function lastOf(steps: readonly Step[]): Step | undefined {
  const last = steps.at(-1)
  return last && performance.now() - last.at < keysReachMs ? last : undefined
}

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id))
}

/** Dismisses messages about a bookmark that are no longer true. */
export function dismissAbout(bookmark: string): void {
  for (const { id, about } of toasts.get()) if (about?.includes(bookmark)) dismiss(id)
}

/** Dismisses a message that is no longer true. */
export function dismissText(text: string): void {
  for (const toast of toasts.get()) if (toast.text === text) dismiss(toast.id)
}
