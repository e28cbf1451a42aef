/** Reads when it is first asked to, and keeps what it has read. After a failure, the next one who asks has it read again. */
export function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined
  return () => {
    kept ??= read().catch((error) => {
      kept = undefined
      throw error
    })
    return kept
  }
}
