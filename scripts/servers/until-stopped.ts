/** Starts something, prints what it resolves to, and goes on until Ctrl-C; then all that was opened is closed. */
export async function untilStopped(start: (opened: AsyncDisposableStack) => Promise<string>): Promise<void> {
  const opened = new AsyncDisposableStack()
  const started = start(opened)
  /** Waits for a start that is still going on, so that nothing is left behind. */
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
