/**
 * What an export file can be read from: bytes, a Blob or File, the body of a fetch response, or anything that yields
 * bytes.
 */
export type ExportFile = Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>

/** A piece of the file. */
export interface Piece {
  /** Valid until the next piece is requested. */
  bytes: Uint8Array
  /** Whether the file ends after this piece. */
  last: boolean
}

/**
 * Cuts the file into a head of one size and pieces of another; the last one may be shorter. Holds one piece at a time.
 */
export async function* cut(file: ExportFile, headSize: number, size: number): AsyncGenerator<Piece, void, undefined> {
  let buffer = new Uint8Array(headSize)
  let filled = 0
  for await (const run of runs(file)) {
    for (let start = 0; start < run.length; ) {
      if (filled === buffer.length) {
        yield { bytes: buffer, last: false }
        if (buffer.length !== size) buffer = new Uint8Array(size)
        filled = 0
      }
      const part = run.subarray(start, start + buffer.length - filled)
      buffer.set(part, filled)
      filled += part.length
      start += part.length
    }
  }
  yield { bytes: buffer.subarray(0, filled), last: true }
}

async function* runs(file: ExportFile): AsyncGenerator<Uint8Array, void, undefined> {
  if (file instanceof Uint8Array) yield file
  else if (file instanceof Blob) yield* streamed(file.stream())
  else if ('getReader' in file) yield* streamed(file)
  else yield* file
}

/** Not every browser can iterate over a ReadableStream. */
export async function* streamed(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
  } finally {
    await reader.cancel()
  }
}
