import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { isBundle } from '../bundle.ts'

/** The contract as written. */
export const contractFolder = isBundle ? beside('./') : beside('../../../')
/** What `npm run build` wrote. A bundle has its own copies. */
export const docsFolder = isBundle ? beside('docs/') : beside('../../../dist/docs/')
export const webFolder = isBundle ? beside('web/') : beside('../../../dist/web/')

function beside(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}

/** The names of the built files. Each file gets its own route, so that no other file on the disk can be requested. */
export async function builtFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name)
}
