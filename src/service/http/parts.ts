import { Readable } from 'node:stream'
import type { PartSerializers } from './serializers.ts'

/** A connection waits for its client after each slice of this many bytes or more. */
const sliceBytes = 64 * 1024
/** What is sent at once: at most a slice. */
export const maxSliceBytes = 2 * sliceBytes

/** Sends texts and what comes after them, which is asked for only when everything before has left. */
export function inSlices(first: string[], next: () => Promise<string[] | undefined> = async () => undefined): Readable {
  let texts = first
  let rest = Buffer.alloc(0)

  async function takeSlice(): Promise<Buffer | null> {
    while (rest.length === 0) {
      const text = texts.shift()
      if (text !== undefined) rest = Buffer.from(text)
      else {
        const more = await next()
        if (more === undefined) return null
        texts = more
      }
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
 * Makes the JSON of a body from its parts, which differ in the elements of an array: texts of a slice or more that
 * together are one body with all elements. In the contract the array comes first, so everything else is known at the end.
 */
export function createJoin({ array, serialize, serializeElement }: PartSerializers) {
  const opening = `{"${array}":[`
  // Joined at once: a text that grows piece by piece takes three times as long to become bytes.
  const pieces = [opening]
  let length = 0
  let isEmpty = true
  return ({ value: part, done }: IteratorResult<object, object>): string[] => {
    const texts: string[] = []
    for (const element of (part as Record<string, object[]>)[array] ?? []) {
      const piece = isEmpty ? serializeElement(element) : `,${serializeElement(element)}`
      isEmpty = false
      length += piece.length
      pieces.push(piece)
      if (length < sliceBytes) continue
      texts.push(pieces.splice(0).join(''))
      length = 0
    }
    if (done) texts.push([...pieces, serialize({ ...part, [array]: [] }).slice(opening.length)].join(''))
    return texts
  }
}
