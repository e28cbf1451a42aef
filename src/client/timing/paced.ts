/** How long the page may be blocked: well below a frame of 16 ms. */
const sliceMs = 10

/** Works item by item, and lets the page respond to its user in between. */
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

/** Waits for one turn of the event loop. Not by timer, because browsers limit hidden tabs to one timer per second. */
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
