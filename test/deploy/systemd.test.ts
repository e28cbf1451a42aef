import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { folder } from '../support/service.ts'
import { configure, read, stopSeconds } from './files.ts'

const unit = read('deploy/systemd/encrypted-bookmark-sync.service')
const values = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
/** Tenths, as systemd counts them: from 0, as shut in as can be, to 100. */
const exposure = '20'

t.test('The unit gives the service settings and credentials that it knows, and time to stop', async (t) => {
  const at = await folder(t)
  const loaded = values('LoadCredential').map((value) => value.split(':')[0] ?? '')
  for (const name of loaded) await writeFile(join(at, name), Buffer.alloc(32, 7).toString('base64'))
  const lines = values('Environment').map((line) => line.replace('%d', at).replace('%S', '/var/lib').split('='))
  const env: Record<string, string> = Object.fromEntries(lines)
  const operators = {
    PUBLIC_URL: 'https://sync.example.org',
    OIDC_ISSUER: 'https://id.example.org',
    OIDC_CLIENT_ID: 'id',
  }
  const { config, unknown } = configure({ ...env, ...operators })
  t.same(unknown, [])
  t.match(config, { environment: 'production', dataDir: `/var/lib/${values('StateDirectory')[0]}` })
  t.ok(Number(values('TimeoutStopSec')[0]) >= config.drainSeconds + stopSeconds)
})

t.test('systemd accepts the unit, and finds it well shut in', async (t) => {
  if (spawnSync('systemd-analyze', ['--version']).error) return t.comment('SKIPPED: no systemd here')
  const file = join(await folder(t), 'encrypted-bookmark-sync.service')
  await writeFile(file, unit.replace('/usr/bin/node', process.execPath))
  const runs = [
    ['verify', '--man=no', file],
    ['security', '--offline=true', `--threshold=${exposure}`, '--no-pager', file],
  ].map((args) => spawnSync('systemd-analyze', args, { encoding: 'utf8' }))
  t.same(
    runs.map(({ status, stderr }) => [status, stderr]),
    [
      [0, ''],
      [0, ''],
    ],
  )
})
