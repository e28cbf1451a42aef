/**
 * Plays the whole story of a person with two devices, over real HTTP and WebSocket; exits 1 at the first difference.
 *
 *   npm run demo -- FILE.htm [COPY.htm]
 *
 * FILE.htm is a browser's bookmark file; COPY.htm receives the one that is written back from the export. BASE_URL names
 * a running service with the development provider; without it the demo starts its own on a temporary folder.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createReport } from './demo/report.ts'
import { playStory } from './demo/story.ts'
import { spawnService } from './development/servers/service.ts'

const [file, copy] = process.argv.slice(2)
const opened = new AsyncDisposableStack()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => opened.disposeAsync().finally(() => process.exit(1)))
}
try {
  if (file === undefined) throw new Error('Usage: npm run demo -- FILE.htm [COPY.htm]')
  await play(file)
  await opened.disposeAsync()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  await opened.disposeAsync()
  process.exitCode = 1
}

async function play(file: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-demo-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const step = createReport(console.log)
  const baseUrl = process.env.BASE_URL ? new URL(process.env.BASE_URL) : await startOwnService(folder)
  console.log(`${basename(file)} on ${baseUrl.origin}\n`)
  await playStory({ baseUrl, file, copy: copy ?? join(folder, 'copy.htm') }, step)
  console.log('\nNo difference.')
}

async function startOwnService(folder: string): Promise<URL> {
  const service = opened.adopt(await spawnService(folder), ({ stop }) => stop())
  await service.ready()
  return service.url
}
