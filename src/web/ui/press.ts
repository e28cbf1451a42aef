/**
 * A press acts on what the person aimed at: what was under the pointer when its button went down, and had been there long enough to be
 * seen. The second press of a double click and the repeats of a held key do nothing, because what they meet came with the first.
 */

/** Milliseconds in which a person sees a change and can still take back a press. */
const settleMs = 400
/** Milliseconds between two events of one scroll by the person, whose finger may have left the screen. */
const scrollMs = 150

const typed = 'input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file]), textarea, select'
const controls = `a[href], button, summary, label, input, [role=option], li[data-id]`
/** Controls that a second press only turns back. */
const turned = 'summary, label, input'
const movingKeys = /^(Arrow.*|Tab|Page.*|Home|End| )$/

/** The place of each control, and its name. */
const places = new WeakMap<Element, string>()
/** Controls that have come to their place just now, each with the look that found it there. */
const unsettled = new Map<Element, number>()
let looks = 0
let isPlanned = false
let scrolledAt = Number.NEGATIVE_INFINITY
/** The pointer's place, and the control that is there. */
const pointer: { x: number; y: number; over: Element | undefined } = { x: -1, y: -1, over: undefined }
let isRefused = false

/** False if it has come to its place so recently that a press there was aimed at something else. */
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
  // The browser takes a finger that scrolls away from the page, so its touch ends otherwise.
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

/** Finds what has moved since the last look. */
function look(): void {
  isPlanned = false
  const turn = ++looks
  const mark = (control: Element) => unsettled.set(control, turn)
  const isScroll = performance.now() - scrolledAt < scrollMs
  for (const control of document.querySelectorAll(controls)) {
    const place = placeOf(control)
    if (places.get(control) === place) continue
    places.set(control, place)
    // The person moves it, and sees where.
    if (!isScroll) mark(control)
  }
  // A control that a dialog or a message has covered has not moved.
  const over = controlOf(document.elementFromPoint(pointer.x, pointer.y))
  if (over && over !== pointer.over && !isScroll) mark(over)
  pointer.over = over
  setTimeout(() => {
    for (const [control, marked] of unsettled) if (marked === turn) unsettled.delete(control)
  }, settleMs)
}

/** Numbers may count while the control stays the same. */
function placeOf(control: Element): string {
  const { x, y, width, height } = control.getBoundingClientRect()
  const name = control.matches('li') ? '' : (control.ariaLabel ?? control.textContent).replaceAll(/\d/g, '')
  return `${[x, y, width, height].map(Math.round)} ${name}`
}

function controlOf(target: EventTarget | null): Element | undefined {
  return target instanceof Element ? (target.closest(controls) ?? undefined) : undefined
}

function follow({ clientX: x, clientY: y, target }: PointerEvent): void {
  // A change that is not drawn yet is older than the movement.
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
  // A click of the keyboard or of a script has no press.
  if (event.detail === 0 || !control || control.matches(typed)) return
  if (isRefused || (event.detail > 1 && !control.matches(turned))) refuse(event)
}

function hold(event: KeyboardEvent): void {
  endScroll()
  const { key, target, repeat, altKey } = event
  if (!repeat || (movingKeys.test(key) && !altKey)) return
  const field = target instanceof Element && target.matches(typed) ? target : undefined
  if (field && (key !== 'Enter' || field.matches('textarea'))) return
  if (key === 'Enter') refuse(event)
  // The browser's own keys, as to enlarge the page, repeat.
  else event.stopPropagation()
}

function refuse(event: Event): void {
  event.preventDefault()
  event.stopPropagation()
}
