export interface Count {
  passed: number
  failed: number
  skipped: number
}

export function describeCount({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/**
 * Reads the totals at the end of tap's output: `# { total: 7, pass: 4, fail: 1, todo: 1, skip: 1 }`, followed by a line
 * with the time. A missing number is 0. Throws if the end is missing or the tests were aborted.
 */
export function readCount(path: string, output: string): Count {
  const [, summary] = /(?:^|\n)# \{ (.*) \}\n# time=\S+\s*$/.exec(output.slice(-1000)) ?? []
  if (summary === undefined) throw new Error(`${path} is incomplete: tap's summary is missing at its end`)
  if (/^Bail out!/m.test(output)) throw new Error(`${path} is incomplete: the tests were aborted`)
  const counts = new Map(Array.from(summary.matchAll(/(\w+): (\d+)/g), ([, name, value]) => [name, Number(value)]))
  const of = (name: string) => counts.get(name) ?? 0
  // Counts crashed processes as failures, which tap may not count as assertions.
  const failedProcesses = output.match(/^not ok /gm)?.length ?? 0
  return { passed: of('pass'), failed: Math.max(of('fail'), failedProcesses), skipped: of('skip') + of('todo') }
}
