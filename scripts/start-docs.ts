/** Builds the documents while `npm start` already serves. The service shows them once they are in place. */
import { cp, rename, rm } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { buildParts } from './package/parts.ts'
import { sources, unlessBuilt, unlessPartBuilt } from './package/unless-built.ts'

const docs = 'dist/start/docs'
/** While this exists, the service reports that the documents are being built. */
const unfinished = `${docs}.part`

// Gives requests priority.
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
