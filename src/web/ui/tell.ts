import { say } from '../words/words.ts'
import { hasLeft, whenLeaving } from './leaving.ts'
import { sharedValue } from './shared-value.ts'

/** Extras of a message at the bottom of the page. */
interface ToastOptions {
  /** Something went wrong: it stays until it is closed, and is announced at once. */
  isAlert?: boolean
  /** Takes back what the message tells of. */
  undo?: () => unknown
  /** Does it again afterwards; without it, nothing offers to, and `undo` always takes back all. */
  redo?: () => Promise<Outcome>
  /** The button's name instead of Undo, where it does not bring back all that was there before. */
  undoName?: string
  /** It tells that something was taken back, or that there is nothing to take back or to do again. */
  isTakenBack?: boolean
  /** Shows what was added. */
  show?: () => unknown
  /** The ids of the bookmarks that it is about. */
  about?: readonly string[]
  /** The id of the message in whose place it is shown: its Undo takes back both. */
  replaces?: number | undefined
}

/** How much of it was taken back or done again: what somebody has changed meanwhile stays. */
export type Outcome = 'done' | 'partly' | 'not'

interface Toast extends ToastOptions {
  id: number
  text: string
  /** The step that it offers to do again. */
  again?: Step | undefined
}

/** An action of a person that can be taken back. */
interface Step {
  id: number
  text: string
  undo: () => unknown
  redo: (() => Promise<Outcome>) | undefined
  /** When it was done or taken back last. */
  at: number
}

/** Long enough to read it; what offers an Undo, long enough to think about it. */
const shownMs = 10_000
const undoShownMs = 30_000
const maxShown = 3
/** Actions that can be undone one after another. */
const maxUndos = 50
/** Milliseconds for which the keys take an action back: one press too many would reach what nobody remembers. */
const keysReachMs = 600_000

const toasts = sharedValue<readonly Toast[]>([])
let lastId = 0
let undos: Step[] = []
let redos: Step[] = []

export const useToasts = toasts.use

// A message about what was done still appears, to the person who sits there by now.
whenLeaving(() => {
  undos = []
  redos = []
  toasts.set(toasts.get().filter((toast) => !mayName(toast)))
})

/** Its text may have the title of a bookmark. */
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
  // The key for Undo takes back what was done before.
  const isStep = (one: ToastOptions) => one.undo !== undefined || one.isTakenBack === true
  const isReplaced = (other: Toast) => other.text === text || (isStep(other) && isStep(options))
  toasts.set([...toasts.get().filter((other) => !isReplaced(other)), toast].slice(-maxShown))
  // A result that came too late to be shown where it was begun must be read.
  if (!options.isAlert && !hasLeft()) setTimeout(() => dismiss(toast.id), options.undo ? undoShownMs : shownMs)
  if (isLastUndo(options.replaces)) undos.pop()
  if (step) undos = [...undos, { ...step, id: toast.id }].slice(-maxUndos)
  return toast.id
}

/** True if what the message tells of is the last that can be taken back. */
export function isLastUndo(id: number | undefined): boolean {
  return id !== undefined && undos.at(-1)?.id === id
}

/** Reports the outcome of a step whose dialog or view was closed because the page has left its person meanwhile. */
export function tellIfLeft(text: string): void {
  if (hasLeft()) tell(text)
}

/** Takes back what the message tells of, unless that was done before. */
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

/** Does it again. */
export async function redo(step: Step): Promise<void> {
  if (!redos.includes(step)) return
  redos = redos.filter((one) => one !== step)
  const { text, undo } = step
  const outcome = await step.redo?.()
  if (outcome === 'not') return void show(say.ui.notRedone(text), { isTakenBack: true })
  show(say.ui.redone(text, outcome === 'partly'), { undo }, { ...step, at: performance.now() })
}

/** Takes back the last action that has not been taken back, which may be out of sight by now. */
export async function undoLast(): Promise<void> {
  const step = lastOf(undos)
  if (!step) return void tell(say.ui.nothingToUndo, { isTakenBack: true })
  await undo(step.id)
  if (!step.redo) tell(say.ui.undone(step.text, false), { isTakenBack: true })
}

/** Does again what was taken back last. */
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

/** For messages about a bookmark that are no longer true. */
export function dismissAbout(bookmark: string): void {
  for (const { id, about } of toasts.get()) if (about?.includes(bookmark)) dismiss(id)
}

/** For a message that is no longer true. */
export function dismissText(text: string): void {
  for (const toast of toasts.get()) if (toast.text === text) dismiss(toast.id)
}
