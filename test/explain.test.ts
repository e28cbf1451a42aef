import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { operations } from '../generated/operations.ts'
import { isDeep } from './support/depth.ts'

async function explain(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/explain.ts', ...args])
  return stdout
}

t.test('The explanation of a push has figures, the functions in order, and the SQL statements', async (t) => {
  const said = await explain('pushChanges')
  const figures =
    /^pushChanges on SQLite: (\d+) files, (\d+) functions, (\d+) statements, ([\d.]+) kB written, [\d.]+ ms\n/
  t.match(said, figures)
  const [, files = '', functions = '', statements = '', written = ''] = figures.exec(said) ?? []
  const [, stages = '', entered = '', sql = ''] = said.split('\n\n')
  t.match(stages, /^ +[\d.]+ ms +\d+ +\d+ {2}src\/service\/http\/$/m)
  const lines = entered.split('\n').slice(1)
  const named = lines.map((line) => /(src\S+\.ts): /.exec(line)?.[1])
  t.equal(new Set(named).size, Number(files), 'each file is named')
  t.same(
    named.filter((file, index) => file === named[index - 1]),
    [],
    'consecutive functions of a file share a line',
  )
  const answer = named.indexOf('src/service/http/responses.ts', named.indexOf('src/service/sync/write.ts'))
  t.ok(answer > named.indexOf('src/service/http/responses.ts'), 'a file is named again when the push returns to it')
  t.ok(Number(functions) > Number(files))
  const places = ['src/service/http/bind.ts', 'src/service/operations/sync.ts', 'src/protocol/'].map((part) =>
    lines.findIndex((line) => line.includes(part)),
  )
  t.same(
    places,
    places.toSorted((one, other) => one - other),
    'files are in the order in which the push reaches them',
  )
  t.notOk(places.includes(-1))
  t.equal(sql.trimEnd().split('\n').length - 1, Number(statements), 'every statement is shown')
  t.match(sql, /insert into "records".*\n(.*\n)*.* commit\n/)
  t.ok(Number(written) > 0)
})

t.test('Every operation can be explained', async (t) => {
  if (isDeep) {
    const [, ...rows] = (await explain('--all')).trimEnd().split('\n')
    const shown = rows.map((row) => /^(\w+)( +\d+){4} +[\d.]+$/.exec(row)?.[1])
    t.same(shown, Object.keys(operations))
  } else {
    // The operations that need the most preparation before a call.
    const some = [
      'completeLogin',
      'restoreBookmark',
      'settleConflict',
      'reservePairing',
      'downloadExport',
      'openRealtime',
    ]
    const said = await explain(...some)
    for (const id of some) t.match(said, new RegExp(`^${id} on SQLite: \\d+ files, `, 'm'))
  }
})
