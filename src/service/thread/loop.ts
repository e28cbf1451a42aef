import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { count, uncounted } from './work.ts'

/** A request has a few turns of the loop: even together, they are below what a person notices. */
const maxHeldMs = 10

/** When a long loop began to hold this turn of the event loop. */
let begun: number | undefined
let begunUncounted = 0

/**
 * For long loops: awaiting what it returns lets the event loop turn, once they have held it for long enough. One loop
 * often follows another, so they share that time.
 */
export function pause(): Promise<void> | undefined {
  if (begun === undefined) begin()
  else if (performance.now() - begun >= maxHeldMs) {
    count(begunUncounted)
    return eventLoopTurn().then(begin)
  }
  return undefined
}

function begin(): void {
  begun = performance.now()
  begunUncounted = uncounted()
  setImmediate(forget)
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
