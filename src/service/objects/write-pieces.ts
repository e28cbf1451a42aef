import type { FileHandle } from 'node:fs/promises'

const writeBytes = 256 * 1024

/** Gathers pieces for few large writes, each of which goes on while the next one is gathered. Resolves to their size. */
export async function writePieces(
  file: FileHandle,
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<number> {
  let [gathered, written] = [Buffer.allocUnsafe(writeBytes), Buffer.allocUnsafe(writeBytes)]
  let [size, filled] = [0, 0]
  let writing = Promise.resolve()

  async function write(): Promise<void> {
    await writing
    writing = file.writeFile(gathered.subarray(0, filled))
    // It may fail before anything waits for it; whoever does then still gets the error.
    writing.catch(() => {})
    ;[gathered, written] = [written, gathered]
    filled = 0
  }

  try {
    for await (const piece of pieces) {
      signal.throwIfAborted()
      size += piece.length
      for (let rest = piece; rest.length > 0; ) {
        const taken = rest.subarray(0, writeBytes - filled)
        gathered.set(taken, filled)
        filled += taken.length
        rest = rest.subarray(taken.length)
        if (filled === writeBytes) await write()
      }
    }
    await write()
    await writing
    return size
  } finally {
    // The file is closed next.
    await Promise.allSettled([writing])
  }
}
