/**
 * `npm run review` reports which version the changes of the contract require and what they mean for its clients. Compares
 * the contracts in this folder with those of a commit. Exits with 1 if there is a breaking change without a major version,
 * or if generated/ is stale.
 *
 *   --base REF      the commit to compare with; by default the merge base with origin/main, or else the previous commit
 *   --output FILE   writes the Markdown to a file instead of printing it
 *   --annotations   also prints GitHub's workflow commands, as does GITHUB_ACTIONS=true
 */
import { writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ReviewError } from './review/base.ts'
import { annotations, markdown } from './review/output.ts'
import { isRefused, review } from './review/review.ts'

try {
  const { base, output, annotations: annotate } = options()
  await tell(output, annotate === true || process.env.GITHUB_ACTIONS === 'true', base)
} catch (error) {
  if (!(error instanceof ReviewError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

async function tell(output: string | undefined, annotate: boolean, base: string | undefined): Promise<void> {
  try {
    const result = await review(pathToFileURL(`${process.cwd()}/`), base)
    if (output) await writeFile(output, markdown(result))
    else process.stdout.write(markdown(result))
    if (annotate) process.stdout.write(annotations(result))
    if (isRefused(result)) process.exitCode = 1
  } catch (error) {
    if (output && error instanceof ReviewError) await writeFile(output, `# Contract review\n\n${error.message}\n`)
    throw error
  }
}

function options() {
  try {
    return parseArgs({
      options: { base: { type: 'string' }, output: { type: 'string' }, annotations: { type: 'boolean' } },
    }).values
  } catch (error) {
    throw new ReviewError((error as Error).message)
  }
}
