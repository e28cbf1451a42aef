import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { printFaultsOfProcess } from './printed.ts'

printFaultsOfProcess()
// Only the service's own user may read what it writes.
process.umask(0o077)
// The next start need not compile the same again. What is kept runs as code, so it is where only that user may write.
enableCompileCache(join(process.env.DATA_DIR || './data', 'compile-cache'))
const { start } = await import('./start.ts')
await start()
// Now, because a process that is killed would keep nothing, and because a start needs no more than this.
flushCompileCache()
