import { count, currentWork, uncounted } from './work.ts'

/** A request has a few turns of the loop: even together, they are below what a person notices. */
const maxHeldMs = 10

/** When a long loop began to hold this turn of the event loop. */
let begun: number | undefined
let begunUncounted = 0

/** A long loop that waits to go on. */
interface Waiting {
  owner: string
  goOn(): void
}

/** Those for which others wait, and the others by owner: whose turn was longest ago comes first. */
const awaited: Waiting[] = []
const others = new Map<string, Waiting[]>()
let isTurning = false

/**
 * For long loops: awaiting what it returns lets the event loop turn, once they have held it for long enough. One loop
 * often follows another, so they share that time. In a turn, two of those that wait go on at most: one that others wait for,
 * and one of another owner.
 */
export function pause(): Promise<void> | undefined {
  if (begun === undefined) {
    begin()
    setImmediate(forget)
  } else if (performance.now() - begun >= maxHeldMs) {
    count(begunUncounted)
    return nextTurn()
  }
  return undefined
}

/** For what takes long and has no steps. */
export function nextTurn(): Promise<void> {
  const { owner = '', isAwaited = false } = currentWork() ?? {}
  const turn = new Promise<void>((goOn) => {
    const waiting = { owner, goOn }
    if (isAwaited) awaited.push(waiting)
    else if (!others.get(owner)?.push(waiting)) others.set(owner, [waiting])
  })
  if (!isTurning) giveTurns()
  return turn.then(begin)
}

function giveTurns(): void {
  isTurning = true
  // Each holds the event loop before the next of these begins.
  setImmediate(() => awaited.shift()?.goOn())
  setImmediate(() => takeOther()?.goOn())
  setImmediate(() => {
    forget()
    isTurning = false
    if (awaited.length + others.size > 0) giveTurns()
  })
}

/** None of an owner who is awaited: what else that owner does would only make the others wait longer. */
function takeOther(): Waiting | undefined {
  for (const [owner, waiting] of others) {
    if (awaited.some((first) => first.owner === owner)) continue
    const next = waiting.shift()
    others.delete(owner)
    if (waiting.length > 0) others.set(owner, waiting)
    return next
  }
  return undefined
}

function begin(): void {
  begun = performance.now()
  begunUncounted = uncounted()
}

function forget(): void {
  begun = undefined
}

/** Does something for some items of a long list at once: the event loop turns meanwhile. */
export async function inParts<Item>(
  list: readonly Item[],
  size: number,
  act: (part: Item[]) => unknown,
): Promise<void> {
  for (let from = 0; from < list.length; from += size) {
    const turn = pause()
    if (turn) await turn
    await act(list.slice(from, from + size))
  }
}

/** Like `flatMap`, in such parts. */
export async function flatMapInParts<Item, Result>(
  list: readonly Item[],
  size: number,
  map: (part: Item[]) => Result[] | Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = []
  await inParts(list, size, async (part) => {
    // One by one: as arguments, too many would not fit.
    for (const result of await map(part)) results.push(result)
  })
  return results
}

/** Like `map`, for long lists: the event loop turns meanwhile. */
export async function mapInTurns<Item, Result>(
  list: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  let began = uncounted()
  // Counted: in an asynchronous function, an iterator allocates an object for each item.
  for (let index = 0; index < list.length; index++) {
    const turn = pause()
    if (turn) {
      await turn
      began = uncounted()
    }
    results.push(map(list[index] as Item, index))
  }
  count(began)
  return results
}
