import { writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { ReviewError } from './base.ts'
import { annotations, markdown } from './output.ts'
import { isRefused, review } from './review.ts'

interface Options {
  /** The commit to compare with. */
  base?: string
  /** The file for the Markdown, instead of stdout. */
  output?: string
  annotations?: boolean
}

export async function printReview({ base, output, annotations: annotate }: Options): Promise<void> {
  try {
    const result = await review(pathToFileURL(`${process.cwd()}/`), base)
    if (output) await writeFile(output, markdown(result))
    else process.stdout.write(markdown(result))
    if (annotate || process.env.GITHUB_ACTIONS === 'true') process.stdout.write(annotations(result))
    if (isRefused(result)) process.exitCode = 1
  } catch (error) {
    if (output && error instanceof ReviewError) await writeFile(output, `# Contract review\n\n${error.message}\n`)
    throw error
  }
}
