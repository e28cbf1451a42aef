const focusable = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, [tabindex]'

/**
 * When what has the focus is removed, such as a row that is deleted or a view that is left, gives it to what is next to it:
 * otherwise a keyboard would begin again at the top of the page, and a screen reader at nowhere.
 */
export function keepFocus(root: HTMLElement): () => void {
  /** What had the focus last, and everything around it. */
  let path: Element[] = []
  const remember = ({ target }: Event) => {
    path = []
    for (let one = target as Element | null; one && one !== root; one = one.parentElement) path.push(one)
  }
  const restore = () => {
    const [last] = path
    if (!last || last.isConnected || document.activeElement !== document.body) return
    const place = path.find((one) => one.isConnected && one.id !== 'page')
    path = []
    nextTo(place)?.focus({ preventScroll: true })
  }
  const observer = new MutationObserver(restore)
  observer.observe(root, { childList: true, subtree: true })
  root.addEventListener('focusin', remember)
  return () => {
    observer.disconnect()
    root.removeEventListener('focusin', remember)
  }
}

/** Something in the place that still is there, or else the main part of the page. */
function nextTo(place: Element | undefined): HTMLElement | null {
  const inside = place?.querySelector<HTMLElement>(focusable)
  if (inside) return inside
  const main = place?.closest<HTMLElement>('main, dialog') ?? document.querySelector<HTMLElement>('main')
  if (main && !main.hasAttribute('tabindex')) main.tabIndex = -1
  return main
}
