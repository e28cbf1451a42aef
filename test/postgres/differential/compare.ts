import { parentPort, workerData } from 'node:worker_threads'
import fc, { type Parameters } from 'fast-check'
import { script } from './scripts.ts'
import { openSide, type Side } from './side.ts'
import { describeStep, type Step } from './steps.ts'

export interface Task {
  /** The environments of the two, by their names in a report. */
  sides: Record<string, Record<string, string>>
  parameters: Parameters<[Step[]]>
}

const { sides, parameters } = workerData as Task
const names = Object.keys(sides)
const [one, other] = (await Promise.all(Object.values(sides).map(openSide))) as [Side, Side]
let steps = 0

async function play(script: Step[]): Promise<void> {
  const story: string[] = []
  await Promise.all([one.begin(), other.begin()])
  for (const step of script) {
    steps += 1
    story.push(describeStep(step))
    compare(story, await Promise.all([one.play(step), other.play(step)]))
  }
  story.push('What is stored in the end')
  compare(story, await Promise.all([one.end(), other.end()]))
}

/** A report is the whole story up to where they differ. */
function compare(story: string[], [seen, seenByOther]: [string[], string[]]): void {
  if (seen.join('\n') === seenByOther.join('\n')) story.push(...seen.map((line) => `    ${line}`))
  else {
    const only = (name: string | undefined, lines: string[], others: string[]) =>
      lines.filter((line) => !others.includes(line)).map((line) => `    on ${name}: ${line}`)
    story.push(...only(names[0], seen, seenByOther), ...only(names[1], seenByOther, seen))
    throw new Error(abbreviate(['They differ:', ...story].join('\n')))
  }
}

function abbreviate(text: string): string {
  return text.replaceAll(/(.)\1{19,}/g, ({ length }, character) => `${character}(${length} times)`)
}

try {
  await fc.assert(fc.asyncProperty(script, play), parameters)
  parentPort?.postMessage(steps)
} finally {
  await Promise.all([one.close(), other.close()])
}
