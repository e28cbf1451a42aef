/** How many ms the page may be blocked: well below a frame of 16 ms. */
const sliceMs = 10

/** Calls `work` for each item, and regularly lets the page handle its other events. */
export async function paced<Item>(
  items: Iterable<Item>,
  work: (item: Item) => void,
  signal?: AbortSignal | undefined,
): Promise<void> {
  let end = performance.now() + sliceMs
  for (const item of items) {
    work(item)
    if (performance.now() < end) continue
    await nextTurn()
    signal?.throwIfAborted()
    end = performance.now() + sliceMs
  }
}

/** Waits for the next turn of the event loop. Not by a timer: browsers limit hidden tabs to one timer per second. */
export function nextTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}
