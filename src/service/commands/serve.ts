import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { makeFolder } from '../config/folders.ts'
import { isReadByPeople, printFault, printFaultsOfProcess } from '../printed.ts'
import { command } from '../terminal/command.ts'

export const serveCommand = command(
  'ebs serve',
  'Runs the service until Ctrl-C.',
  'Environment variables configure it; its documents, at /docs, list them. Without any, it keeps its data in ./data, and anybody can sign in under any name.',
).action(serve)
if (!isReadByPeople())
  serveCommand.configureOutput({
    outputError: (message) => printFault('fatal', message.trim().replaceAll('\n', ' ')),
  })

async function serve(): Promise<void> {
  printFaultsOfProcess()
  await keepCompiled(join(process.env.DATA_DIR || './data', 'compile-cache'))
  const { start } = await import('../start.ts')
  await start()
  // Stores the compiled code, because a killed process would store none. A start needs only what is compiled so far.
  flushCompileCache()
  compactHeap()
}

/** Stores compiled code for the next start. It is executed, so only this user may write the folder. */
async function keepCompiled(folder: string): Promise<void> {
  // If the folder cannot be created, the start reports that.
  await makeFolder(folder).then(
    () => enableCompileCache(folder),
    () => {},
  )
}

/** Frees the memory that only the start needed, about a tenth. Node would keep it until the service is busy. */
function compactHeap(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')({ type: 'major', flavor: 'last-resort' })
}
