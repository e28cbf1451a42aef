import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { compileCache } from '../support/compile-cache.ts'
import { databaseUrl } from '../support/database-url.ts'

t.test('A command whose output nobody reads to its end, as before head, ends without a word', async (t) => {
  const { dataDir, user } = await buildApp(t)
  await user('ada')
  const admin = fileURLToPath(new URL('../../src/commands/admin.ts', import.meta.url))
  // The reader has gone before the first line comes.
  const child = spawn('sh', ['-c', '"$0" "$1" users | true', process.execPath, admin], {
    env: { ...compileCache, DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.equal(await text(child.stderr), '')
})
