import { say } from '../words/words.ts'
import { hasLeft, whenLeaving } from './leaving.ts'
import { sharedValue } from './shared-value.ts'

/** Extras of a message at the bottom of the page. */
interface ToastOptions {
  /** Something went wrong: it stays until it is closed, and is announced at once. */
  isAlert?: boolean
  /** Takes back what the message tells of. */
  undo?: () => unknown
  /** The button's name instead of Undo, where it does not bring back all that was there before. */
  undoName?: string
  /** It tells that something was taken back. */
  isTakenBack?: boolean
  /** The ids of the bookmarks that it is about. */
  about?: readonly string[]
  /** The id of the message in whose place it is shown: its Undo takes back both. */
  replaces?: number | undefined
}

interface Toast extends ToastOptions {
  id: number
  text: string
}

/** Long enough to read it; what offers an Undo, long enough to think about it. */
const shownMs = 10_000
const undoShownMs = 30_000
const maxShown = 3
/** So many actions can be taken back one after another. */
const maxUndos = 50

const toasts = sharedValue<readonly Toast[]>([])
let lastId = 0
const undos: { id: number; text: string; undo: () => unknown }[] = []

export const useToasts = toasts.use

// Only what was done is still told, to whoever sits there by now.
whenLeaving(() => {
  undos.length = 0
  toasts.set(toasts.get().filter((toast) => !mayName(toast)))
})

/** Its text may have the title of a bookmark. */
function mayName({ undo, isTakenBack, about }: ToastOptions): boolean {
  return undo !== undefined || isTakenBack === true || about !== undefined
}

/** Shows a message at the bottom of the page and announces it to screen readers. Returns its id. */
export function tell(text: string, options: ToastOptions = {}): number | undefined {
  if (hasLeft() && mayName(options)) return undefined
  const toast = { id: ++lastId, text, ...options }
  // The key for Undo takes back what was done before.
  const isStep = (one: ToastOptions) => one.undo !== undefined || one.isTakenBack === true
  const isReplaced = (other: Toast) => other.text === text || (isStep(other) && isStep(options))
  toasts.set([...toasts.get().filter((other) => !isReplaced(other)), toast].slice(-maxShown))
  // What ended too late to be shown where it was begun must be read.
  if (!options.isAlert && !hasLeft()) setTimeout(() => dismiss(toast.id), options.undo ? undoShownMs : shownMs)
  if (isLastUndo(options.replaces)) undos.pop()
  if (options.undo) undos.push({ id: toast.id, text, undo: options.undo })
  if (undos.length > maxUndos) undos.shift()
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

/** Takes back what the message tells of. Resolves with its text, unless that was taken back before. */
export async function undo(id: number): Promise<string | undefined> {
  const at = undos.findIndex((one) => one.id === id)
  const [taken] = at === -1 ? [] : undos.splice(at, 1)
  if (!taken) return undefined
  dismiss(taken.id)
  await taken.undo()
  return taken.text
}

/** Takes back the last action that has not been taken back, which may be out of sight by now. */
export async function undoLast(): Promise<void> {
  const text = await undo(undos.at(-1)?.id ?? 0)
  tell(text === undefined ? say.ui.nothingToTakeBack : say.ui.undone(text), { isTakenBack: true })
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
