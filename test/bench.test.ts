import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { compileCache } from './support/compile-cache.ts'

const command = fileURLToPath(new URL('../bench/bench.ts', import.meta.url))

t.test('The benchmark measures two rows and their limits in turn, and writes a JSON file and a table', async (t) => {
  const folder = t.testdir()
  const { status, stderr } = bench(['create', 'empty-pull', '--quick', '--rounds', '1', '--out', folder])
  t.equal(status, 0, stderr)
  const { results, ...about } = JSON.parse(readFileSync(join(folder, 'bench.json'), 'utf8'))
  t.match(about, { date: /^\d{4}-\d\d-\d\dT/, database: 'SQLite', node: process.version, cores: Number, rounds: 1 })
  const figures = { rounds: { service: [Number], limit: [Number] }, medians: { service: Number, limit: Number } }
  t.match(results, [
    {
      row: 'empty-pull',
      unit: 'requests/s',
      target: '≥ 0.50 of the limit',
      ratios: { service: Number },
      met: Boolean,
      ...figures,
    },
    {
      row: 'create',
      unit: 'requests/s',
      target: '≥ 0.60 of the limit',
      ratios: { service: Number },
      met: Boolean,
      ...figures,
    },
  ])
  t.match(readFileSync(join(folder, 'bench.md'), 'utf8'), /^\| create one, 64 connections, durable, requests\/s \| /m)
})

function bench(args: string[]) {
  return spawnSync(process.execPath, [command, ...args], { env: { ...process.env, ...compileCache }, encoding: 'utf8' })
}
