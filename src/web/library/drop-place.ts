/** Where something can be dropped, and what on the screen shows it. */
export type Place = { box: DOMRect } & (
  | { into: string | undefined }
  | { folder: string | undefined; before: string | undefined }
)

/** The outer parts of a folder's row stand for the places above and below it. */
const outer = 0.25

/**
 * What is under the pointer: a folder, or a place between two rows.
 *
 * @param moving what is dragged: nothing goes into itself
 * @param folder the folder that the list shows, if places between rows count
 */
export function dropAt(
  x: number,
  y: number,
  moving: readonly string[],
  folder: { id: string | undefined } | undefined,
): Place | undefined {
  const under = document.elementFromPoint(x, y)
  const row = under?.closest<HTMLElement>('.collection li[data-id]') ?? undefined
  const target = under?.closest<HTMLElement>('[data-drop-folder]') ?? undefined
  const into = target?.dataset.dropFolder
  const isCards = row?.querySelector('.cards') !== null
  if (target && into !== undefined && !moving.includes(into)) {
    const box = target.getBoundingClientRect()
    const part = row && isCards ? (x - box.left) / box.width : (y - box.top) / box.height
    if (!row || !folder || (part > outer && part < 1 - outer)) return { box, into: into === '' ? undefined : into }
  }
  if (!row || !folder) return undefined
  return between(row, x, y, isCards, moving, folder.id)
}

function between(
  row: HTMLElement,
  x: number,
  y: number,
  isCards: boolean,
  moving: readonly string[],
  folder: string | undefined,
): Place {
  const box = row.getBoundingClientRect()
  const isAfter = isCards ? x > box.left + box.width / 2 : y > box.top + box.height / 2
  let next: Element | null = isAfter ? row.nextElementSibling : row
  while (next instanceof HTMLElement && moving.includes(next.dataset.id ?? '')) next = next.nextElementSibling
  const before = next instanceof HTMLElement ? next.dataset.id : undefined
  const line = isCards
    ? new DOMRect(isAfter ? box.right - 8 : box.left - 8, box.top, 0, box.height - 12)
    : new DOMRect(box.left, isAfter ? box.bottom : box.top, box.width, 0)
  return { box: line, folder, before }
}
