/** How long a page may stand still: well under a frame of 16 ms. */
const sliceMs = 10

/** Does the work item by item, and lets the page answer its user in between. */
export async function paced<Item>(
  items: Iterable<Item>,
  work: (item: Item) => void,
  signal?: AbortSignal | undefined,
): Promise<void> {
  let end = performance.now() + sliceMs
  for (const item of items) {
    work(item)
    if (performance.now() < end) continue
    await breath()
    signal?.throwIfAborted()
    end = performance.now() + sliceMs
  }
}

/** A turn of the event loop; by message, because browsers slow the timers of hidden tabs down to one a second. */
function breath(): Promise<void> {
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}
