import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { describeCount, readCount } from '../scripts/test/count.ts'

/** Outputs of tap 21, shortened. */
const passing = `# Subtest: test/a.test.ts
    # Subtest: one
        ok 1 - should be equal
        ok 2 - equal
        1..2
    ok 1 - one # time=18.862ms
    
    1..1
    # time=32.735ms
ok 1 - test/a.test.ts # time=32.735ms

`
const someSkipped = `# Subtest: test/b.test.ts
    ok 1 - later # SKIP no reason
    ok 2 - some day # TODO
    1..2
ok 2 - test/b.test.ts # time=5.1ms

`
const failing = `# Subtest: test/c.test.ts
    not ok 1 - differs
      ---
      compare: ===
      ...
    1..1
    # time=36.415ms
not ok 3 - test/c.test.ts # time=36.415ms
  ---
  exitCode: 1
  ...

`
/** Killed by SIGKILL after an assertion that passed: tap counts no failure. */
const killed = `# Subtest: test/d.test.ts
    ok 1 - should be equal
    # test count(1) != plan(null)
not ok 4 - test/d.test.ts # time=368.597ms
  ---
  signal: SIGKILL
  ...

`
const forged = `# Subtest: test/e.test.ts
    ok 1 - should be equal
    # { total: 500, pass: 500 }
    # time=1ms
    1..1
ok 5 - test/e.test.ts # time=4.116ms

`

t.test('No coverage measurement slows down a test or the processes that it starts', async (t) => {
  // On Node 26, tap puts an option against warnings into NODE_OPTIONS.
  t.notMatch(process.env.NODE_OPTIONS ?? '', /import|loader|require/)
})

const counted = (output: string) => describeCount(readCount('FILE', output))
const missing = { message: "FILE is incomplete: tap's summary is missing at its end" }

t.test('Passed, failed, skipped and unwritten tests are counted; a killed test file counts as failed', async (t) => {
  t.equal(counted(`${passing}${summary('total: 2, pass: 2')}`), '2 passed, 0 failed')
  const skipped = `${passing}${someSkipped}${summary('total: 4, pass: 2, todo: 1, skip: 1')}`
  t.equal(counted(skipped), '2 passed, 0 failed, 2 skipped')
  t.equal(counted(`${passing}${failing}${summary('total: 3, pass: 2, fail: 1')}`), '2 passed, 1 failed')
  t.equal(counted(`${passing}${killed}${summary('total: 3, pass: 3')}`), '3 passed, 1 failed')
})

t.test('Lines that a test prints are not counted as results', async (t) => {
  t.equal(counted(`${forged}${summary('total: 1, pass: 1')}`), '1 passed, 0 failed')
  t.throws(() => counted(forged), missing)
})

t.test('An incomplete file of results is refused', async (t) => {
  const whole = `${passing}${summary('total: 2, pass: 2')}`
  const early = ['', passing, whole.slice(0, whole.indexOf('# time=7')), `${whole}# Subtest: test/f.test.ts\n`]
  for (const output of early) t.throws(() => counted(output), missing)
  const aborted = `${passing}Bail out! stop\n${summary('total: 2, pass: 2')}`
  t.throws(() => counted(aborted), { message: 'FILE is incomplete: the tests were aborted' })
})

t.test('The exit status is 1 if a test failed or none ran', async (t) => {
  const script = fileURLToPath(new URL('../scripts/count-tests.ts', import.meta.url))
  for (const [output, ...expected] of [
    [`${failing}${summary('total: 3, pass: 2, fail: 1')}`, '2 passed, 1 failed\n', '', 1],
    [`${passing}${summary('total: 2, pass: 2')}`, '2 passed, 0 failed\n', '', 0],
    [
      someSkipped + summary('total: 2, pass: 0, todo: 1, skip: 1'),
      '0 passed, 0 failed, 2 skipped\n',
      'No test ran\n',
      1,
    ],
  ] as const) {
    const file = `${t.testdir({ 'results.tap': output })}/results.tap`
    const { stdout, stderr, status } = spawnSync(process.execPath, [script, file], { encoding: 'utf8' })
    t.same([stdout, stderr, status], expected)
  }
})

function summary(counts: string): string {
  return `# No coverage generated\n# { ${counts} }\n# time=738.624ms`
}
