/** What a message at the bottom of the page can have. */
export interface ToastOptions {
  /** Something went wrong: it stays until it is closed, and is announced at once. */
  isAlert?: boolean
  /** Takes back what the message tells of. */
  undo?: () => unknown
}

export interface Toast extends ToastOptions {
  id: number
  text: string
}

/** Long enough to read it and to reach the button. */
const shownMs = 10_000
const maxShown = 3

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()

/** Shows a message at the bottom of the page and announces it to screen readers. */
export function tell(text: string, options: ToastOptions = {}): void {
  const toast = { id: ++lastId, text, ...options }
  show([...toasts.filter((other) => other.text !== text), toast].slice(-maxShown))
  if (!options.isAlert) setTimeout(() => dismiss(toast.id), shownMs)
}

export function dismiss(id: number): void {
  show(toasts.filter((toast) => toast.id !== id))
}

export function shownToasts(): readonly Toast[] {
  return toasts
}

export function onToasts(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function show(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}
