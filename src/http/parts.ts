import { Readable } from 'node:stream'

/** A connection waits for its client after each slice of this many bytes or more. */
const sliceBytes = 64 * 1024
/** What is sent at once: at most a slice. */
export const maxSliceBytes = 2 * sliceBytes

/** Sends a text and what comes after it, which is asked for only when everything before has left. */
export function inSlices(first: string, next: () => Promise<string | undefined> = async () => undefined): Readable {
  let rest = Buffer.from(first)

  async function takeSlice(): Promise<Buffer | null> {
    while (rest.length === 0) {
      const text = await next()
      if (text === undefined) return null
      rest = Buffer.from(text)
    }
    // Not even the last slice is shorter: the connection would not wait for it, and the next text would come too early.
    const end = rest.length <= maxSliceBytes ? rest.length : sliceBytes
    const slice = rest.subarray(0, end)
    rest = rest.subarray(end)
    return slice
  }

  return new Readable({
    // Any other value reads ahead of what the connection takes.
    highWaterMark: 0,
    read() {
      takeSlice().then(
        (slice) => this.push(slice),
        (error: Error) => this.destroy(error),
      )
    },
  })
}

/**
 * Makes the JSON of a body from its parts, which differ in the elements of an array: the pieces of text that together are
 * one body with all elements. In the contract the array comes first, so everything else is known at the end.
 */
export function createJoin(serialize: (part: object) => string) {
  let isFirst = true
  return ({ value: part, done }: IteratorResult<object, object>): string => {
    const array = Object.entries(part).find(([, value]) => Array.isArray(value))?.[0] ?? ''
    const opening = `{"${array}":[`
    const end = serialize({ ...part, [array]: [] }).slice(opening.length)
    const elements = serialize(part).slice(opening.length, -end.length)
    const begin = isFirst ? opening : elements && ','
    isFirst = false
    return begin + elements + (done ? end : '')
  }
}
