import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { styleText } from 'node:util'
import { serveOwn } from '../servers/service.ts'
import { playStory, type StoryStep } from './story.ts'

/**
 * @param copy where to write the bookmark file that is made from the backup
 * @param running the address of a running service. Without it, one is started
 */
export async function play(file: string, copy?: string, running?: URL): Promise<void> {
  await using opened = new AsyncDisposableStack()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => opened.disposeAsync().finally(() => process.exit(1)))
  }
  const { path: folder } = opened.use(await mkdtempDisposable(join(tmpdir(), 'ebs-demo-')))
  const baseUrl = running ?? (await serveOwn(opened)).url
  console.log(`${basename(file)} on ${baseUrl.origin}\n`)
  const step = createReport(console.log)
  await playStory({ baseUrl, file, copy: copy ?? join(folder, 'copy.htm') }, step)
  console.log(styleText('green', '\nNo difference.'))
  if (copy !== undefined) console.log(`Written: ${copy}`)
  console.log(`The same in a browser: ${running?.origin ?? 'npm start'}`)
}

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

/** The message and its cause: the message of `fetch` is only "fetch failed". */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
