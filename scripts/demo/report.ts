/** Runs one step of the story and prints it, with how long it took and what `note` was told. */
export type StoryStep = <T>(title: string, work: (note: (result: string) => void) => Promise<T>) => Promise<T>

export function createReport(print: (line: string) => void): StoryStep {
  let number = 0
  return async (title, work) => {
    const heading = `${++number}. ${title}`
    let result = ''
    const start = performance.now()
    const note = (text: string) => {
      result = text
    }
    const value = await work(note).catch((cause: unknown) => {
      throw new Error(`FAILED at ${heading}: ${describe(cause)}`, { cause })
    })
    const ms = `${Math.round(performance.now() - start)} ms`
    print(`${`${number}. `.padStart(4)}${title.padEnd(58)}${ms.padStart(8)}  ${result}`)
    return value
  }
}

/** `fetch` says only "fetch failed"; why is in its cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
