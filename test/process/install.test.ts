import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { installPackage } from '../../scripts/servers/program.ts'

/** Fails if it runs twice at once, as apt-get does. */
const aptGet = `#!/bin/sh
cd "$(dirname "$0")"
mkdir lock || exit 100
sleep 0.2
echo "$*" >> calls
case $1 in install) echo > browser && chmod +x browser ;; esac
rmdir lock`

t.test('Several processes that miss a program install its package once, one after another', async (t) => {
  t.capture(console, 'error')
  const at = t.testdir()
  await writeFile(join(at, 'apt-get'), aptGet, { mode: 0o755 })
  const env = { PATH: `${at}:${process.env.PATH}`, XDG_CACHE_HOME: join(at, 'cache') }
  await Promise.all([1, 2, 3].map(() => installPackage('browser', join(at, 'browser'), env)))
  t.same(readFileSync(join(at, 'calls'), 'utf8').split('\n'), [
    'update',
    'install -y --no-install-recommends browser',
    '',
  ])
})
