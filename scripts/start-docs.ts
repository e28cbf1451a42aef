/** Builds the documents in the background, while the service already runs. It serves them as soon as they are built. */
import { cp, rename, rm } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { buildParts } from './package/parts.ts'
import { sources, unlessBuilt, unlessPartBuilt } from './package/unless-built.ts'

const docs = 'dist/start/docs'
/** While this folder exists, the service reports that the documents are being built. */
const unfinished = `${docs}.part`

// A low priority for this process, so that the requests of users come first.
setPriority(10)
try {
  await unlessBuilt('start-docs', sources, build, docs)
} finally {
  await rm(unfinished, { recursive: true, force: true })
}

async function build(): Promise<void> {
  await unlessPartBuilt('docs', () => buildParts(['docs'], () => {}))
  await cp('dist/docs', unfinished, { recursive: true })
  await rm(docs, { recursive: true, force: true })
  await rename(unfinished, docs)
}
