/** Starts something and prints the returned text. On Ctrl-C, closes everything that was opened. */
export async function untilStopped(start: (opened: AsyncDisposableStack) => Promise<string>): Promise<void> {
  const opened = new AsyncDisposableStack()
  const started = start(opened)
  /** Waits for an unfinished start, so that what it opens is closed, too. */
  const stop = async () => {
    await started.catch(() => {})
    await opened.disposeAsync()
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  try {
    console.log(await started)
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}
