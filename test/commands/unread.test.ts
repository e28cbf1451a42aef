import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { compileCache } from '../support/compile-cache.ts'

const printing = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { command, run } from '${new URL('../../src/service/terminal/command.ts', import.meta.url)}'
  await run(command('admin', 'prints').action(async () => {
    for (let line = 1; line <= 3; line++) {
      console.log(line)
      await sleep(5)
    }
  }))`

t.test('A command whose output nobody reads to its end, as before head, ends without a word', async (t) => {
  // The reader has gone before the first line comes.
  const shell = '"$0" --input-type=module -e "$1" | true'
  const child = spawn('sh', ['-c', shell, process.execPath, printing], {
    env: compileCache,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.equal(await text(child.stderr), '')
})
