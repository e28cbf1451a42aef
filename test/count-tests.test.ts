import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { compileCache } from './support/compile-cache.ts'

/** As tap writes them (tap 21), without the middle. */
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

t.test('No test, nor what it starts, is slowed down by a count of what it executes', async (t) => {
  t.equal(process.env.NODE_OPTIONS, undefined)
})

t.test('Everything passed', async (t) => {
  t.same(countTests(`${passing}${summary('total: 2, pass: 2')}`), answer('2 passed, 0 failed\n', 0))
})

t.test('Skipped and unwritten tests are reported', async (t) => {
  const output = `${passing}${someSkipped}${summary('total: 4, pass: 2, todo: 1, skip: 1')}`
  t.same(countTests(output), answer('2 passed, 0 failed, 2 skipped\n', 0))
})

t.test('A failure', async (t) => {
  const output = `${passing}${failing}${summary('total: 3, pass: 2, fail: 1')}`
  t.same(countTests(output), answer('2 passed, 1 failed\n', 1))
})

t.test('A file that was killed is a failure', async (t) => {
  t.same(countTests(`${passing}${killed}${summary('total: 3, pass: 3')}`), answer('3 passed, 1 failed\n', 1))
})

t.test('What a test prints does not count', async (t) => {
  t.same(countTests(`${forged}${summary('total: 1, pass: 1')}`), answer('1 passed, 0 failed\n', 0))
  t.same(countTests(forged), refusal("FILE is incomplete: tap's summary is missing at its end"))
})

t.test('Nothing ran', async (t) => {
  t.same(countTests(summary('total: 0, pass: 0')), answer('0 passed, 0 failed\n', 1, 'No test ran\n'))
  t.same(
    countTests(`${someSkipped}${summary('total: 2, pass: 0, todo: 1, skip: 1')}`),
    answer('0 passed, 0 failed, 2 skipped\n', 1, 'No test ran\n'),
  )
})

t.test('The file ends too early', async (t) => {
  const missing = refusal("FILE is incomplete: tap's summary is missing at its end")
  const whole = `${passing}${summary('total: 2, pass: 2')}`
  t.same(countTests(''), missing)
  t.same(countTests(passing), missing)
  t.same(countTests(whole.slice(0, whole.indexOf('# time=7'))), missing)
  t.same(countTests(`${whole}# Subtest: test/f.test.ts\n`), missing)
  t.same(
    countTests(`${passing}Bail out! stop\n${summary('total: 2, pass: 2')}`),
    refusal('FILE is incomplete: the tests were aborted'),
  )
})

t.test('There is no file', async (t) => {
  const { status, stderr } = run('missing.tap')
  t.equal(status, 1)
  t.match(stderr, /^ENOENT.*missing\.tap'\n$/)
  t.match(run(), { status: 2, stdout: /^$/, stderr: /^error: missing required argument 'file' [^\n]*\n$/ })
})

function summary(counts: string): string {
  return `# No coverage generated\n# { ${counts} }\n# time=738.624ms`
}

function answer(stdout: string, status: number, stderr = '') {
  return { stdout, stderr, status }
}

function refusal(message: string) {
  return answer('', 1, `${message}\n`)
}

/** Its output for a file of this content; the file's path is FILE. */
function countTests(output: string) {
  const file = `${t.testdir({ 'results.tap': output })}/results.tap`
  const counted = run(file)
  return { ...counted, stderr: counted.stderr.replace(file, 'FILE') }
}

function run(...args: string[]) {
  const script = fileURLToPath(new URL('../scripts/count-tests.ts', import.meta.url))
  const { stdout, stderr, status } = spawnSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
    env: compileCache,
  })
  return { stdout, stderr, status }
}
