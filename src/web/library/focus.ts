/** Puts the focus on a row's title, which may be drawn only with the next frames. */
export function focusRow(list: HTMLElement, id: string, frames = 5): void {
  const title = list.querySelector<HTMLElement>(`li[data-id="${CSS.escape(id)}"] [data-main]`)
  if (title) {
    title.focus()
    title.scrollIntoView({ block: 'nearest' })
  } else if (frames > 0) requestAnimationFrame(() => focusRow(list, id, frames - 1))
}

/** What is left after a removal and closest to what was removed: the next one, or else the one before. */
export function neighbourOf(ids: readonly string[], removed: readonly string[]): string | undefined {
  const gone = new Set(removed)
  const first = ids.findIndex((id) => gone.has(id))
  return (
    ids.slice(first).find((id) => !gone.has(id)) ?? ids.slice(0, Math.max(0, first)).findLast((id) => !gone.has(id))
  )
}
