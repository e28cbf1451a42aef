/** Runs one step of the story and prints it, with how long it took and what `note` was told. */
export type Step = <T>(title: string, work: (note: (result: string) => void) => Promise<T>) => Promise<T>

export function createReport(print: (line: string) => void): Step {
  let number = 0
  return async (title, work) => {
    const heading = `${++number}. ${title}`
    let result = ''
    const start = performance.now()
    const value = await work((note) => {
      result = note
    }).catch((cause: unknown) => {
      throw new StepError(heading, cause)
    })
    const ms = `${Math.round(performance.now() - start)} ms`
    print(`${heading.padStart(heading.length + 2 - String(number).length).padEnd(62)}${ms.padStart(8)}  ${result}`)
    return value
  }
}

/** Says at which step it happened. */
class StepError extends Error {
  override name = 'StepError'

  constructor(heading: string, cause: unknown) {
    super(`FAILED at ${heading}: ${describe(cause)}`, { cause })
  }
}

/** `fetch` says only "fetch failed"; why is in its cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
