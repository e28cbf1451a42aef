/**
 * Makes a click act only on what the person aimed at. Refuses a click if its control has appeared or moved in the last
 * 400 ms, too late for the person to see it. Also refuses the second click of a double click and the repeats of a held
 * key, except where they are wanted, because they would hit what the first one made appear.
 */

/** Milliseconds in which a person notices a change and can still stop a click. */
const settleMs = 400
/** The longest pause in milliseconds within one scroll, which may go on after the finger has left. */
const scrollMs = 150

const typed = 'input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file]), textarea, select'
const controls = `a[href], button, summary, label, input, [role=option], li[data-id]`
/** Controls on which a second click only reverses the first. */
const toggles = 'summary, label, input'
const movingKeys = /^(Arrow.*|Tab|Page.*|Home|End| )$/

/** The position and name that each control had when `look` last saw it. */
const places = new WeakMap<Element, string>()
/** Controls that have just appeared or moved, each with the number of the call of `look` that noticed it. */
const unsettled = new Map<Element, number>()
let looks = 0
let isPlanned = false
let scrolledAt = Number.NEGATIVE_INFINITY
/** The pointer's position, and the control under it. */
const pointer: { x: number; y: number; over: Element | undefined } = { x: -1, y: -1, over: undefined }
let isRefused = false

/** False if the control has appeared or moved so recently that the person may have aimed at something else. */
export function isSettled(control: Element): boolean {
  if (isPlanned) look()
  return places.has(control) && !unsettled.has(control)
}

export function watchPresses(): void {
  new MutationObserver(plan).observe(document, {
    subtree: true,
    childList: true,
    attributes: true,
    characterData: true,
  })
  for (const type of ['resize', 'scroll', 'toggle', 'transitionend', 'animationend']) addEventListener(type, plan, true)
  for (const type of ['wheel', 'touchmove']) addEventListener(type, scrolls, { capture: true, passive: true })
  addEventListener('scroll', () => performance.now() - scrolledAt < scrollMs && scrolls(), true)
  addEventListener('pointermove', follow, { capture: true, passive: true })
  addEventListener('pointerdown', aim, true)
  // When a finger starts to scroll, the browser cancels its touch, so `pointerup` means that it did not scroll.
  addEventListener('pointerup', endScroll, true)
  addEventListener('click', press, true)
  addEventListener('keydown', hold, true)
}

function scrolls(): void {
  scrolledAt = performance.now()
}

function endScroll(): void {
  scrolledAt = Number.NEGATIVE_INFINITY
}

function plan(): void {
  if (isPlanned) return
  isPlanned = true
  requestAnimationFrame(() => isPlanned && look())
}

/** Finds controls that have appeared or moved since the last call. */
function look(): void {
  isPlanned = false
  const call = ++looks
  const mark = (control: Element) => unsettled.set(control, call)
  const isScroll = performance.now() - scrolledAt < scrollMs
  for (const control of document.querySelectorAll(controls)) {
    const place = placeOf(control)
    if (places.get(control) === place) continue
    places.set(control, place)
    // A person who scrolls sees where the controls go.
    if (!isScroll) mark(control)
  }
  // A control that was covered by a dialog or message has not moved, but is new under the pointer.
  const over = controlOf(document.elementFromPoint(pointer.x, pointer.y))
  if (over && over !== pointer.over && !isScroll) mark(over)
  pointer.over = over
  setTimeout(() => {
    for (const [control, marked] of unsettled) if (marked === call) unsettled.delete(control)
  }, settleMs)
}

/** Position and name. Digits are left out, because a counter may change while the control stays the same. */
function placeOf(control: Element): string {
  const { x, y, width, height } = control.getBoundingClientRect()
  const name = control.matches('li') ? '' : (control.ariaLabel ?? control.textContent).replaceAll(/\d/g, '')
  return `${[x, y, width, height].map(Math.round)} ${name}`
}

function controlOf(target: EventTarget | null): Element | undefined {
  return target instanceof Element ? (target.closest(controls) ?? undefined) : undefined
}

function follow({ clientX: x, clientY: y, target }: PointerEvent): void {
  // Finds earlier changes first, with the pointer where it was.
  if (isPlanned) look()
  Object.assign(pointer, { x, y, over: controlOf(target) })
}

function aim(event: PointerEvent): void {
  endScroll()
  const control = controlOf(event.target)
  isRefused = control !== undefined && !isSettled(control)
  follow(event)
}

function press(event: MouseEvent): void {
  const control = controlOf(event.target)
  // Clicks by keyboard or script (`detail` is 0) were not aimed with a pointer.
  if (event.detail === 0 || !control || control.matches(typed)) return
  if (isRefused || (event.detail > 1 && !control.matches(toggles))) refuse(event)
}

function hold(event: KeyboardEvent): void {
  endScroll()
  const { key, target, repeat, altKey } = event
  if (!repeat || (movingKeys.test(key) && !altKey)) return
  const field = target instanceof Element && target.matches(typed) ? target : undefined
  if (field && (key !== 'Enter' || field.matches('textarea'))) return
  if (key === 'Enter') refuse(event)
  // The browser's own shortcuts may repeat, such as zooming.
  else event.stopPropagation()
}

function refuse(event: Event): void {
  event.preventDefault()
  event.stopPropagation()
}
