import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { mock } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { ProgressBar } from '../../src/service/terminal/progress.ts'
import { compileCache } from '../support/compile-cache.ts'
import { isDeep } from '../support/depth.ts'
import { pick } from '../support/pick.ts'

/** The scripts of package.json, with what their help must contain, and wrong calls with their errors. */

interface Script {
  /** Options and arguments that the help must name, besides --help. */
  names?: string[]
  /** Wrong calls, besides unknown options, and their errors. */
  wrong?: Record<string, RegExp>
}

const missing = /missing required argument/
const scripts: Record<string, Script> = {
  start: {},
  ebs: {
    names: [
      'serve',
      'doctor',
      'backup',
      'restore',
      'restored',
      'migrate',
      'reseal',
      'admin',
      'Run as root, it becomes the user',
    ],
    wrong: { '': /no command: one of serve, /, 'destroy everything': /there is no command destroy: one of serve, / },
  },
  backup: { names: ['folder'], wrong: { '': missing } },
  admin: {
    names: ['users', 'disable <user-id>', 'enable <user-id>', 'undelete', 'export <user-id>', 'move-issuer', 'recount'],
    wrong: {
      '': /no command: one of users, sessions, quota, disable, enable, delete, undelete, export, restore, move-issuer, /,
      destroy: /there is no command destroy: one of users/,
    },
  },
  migrate: {},
  move: {
    names: ['database-url', '--to-file <file>'],
    wrong: {
      '': /name one database to move to, by its DATABASE_URL or by --to-file/,
      'sqlite:a --to-file package.json': /name one database/,
      'mysql://a/b': /error: the URL must begin with sqlite: or postgres:/,
      '--to-file package.json': /--to-file: the URL must begin with sqlite: or postgres:/,
      '--to-file no-such-file': /there is no file no-such-file/,
    },
  },
  restore: {
    names: ['backup'],
    wrong: {
      '': /name a backup, or latest; npm run restore -- --list shows them/,
      '--list latest': /--list takes no backup and no other option/,
      'no-such-folder': /there is no file .*no-such-folder\/bookmarks\.db/,
    },
  },
  restored: {},
  reseal: {},
  test: {
    names: ['file', '--deep'],
    wrong: { 'package.json test/no-such.test.ts': /there is no test file package\.json, test\/no-such\.test\.ts/ },
  },
  check: { names: ['biome check', 'redocly lint'], wrong: { now: /too many arguments/ } },
  generate: { names: ['--check'] },
  review: { names: ['--base <commit>', '--output <file>', '--annotations'] },
  build: { names: ['part', 'choices: "client", "web"'], wrong: { all: /Allowed choices are client/ } },
  release: { names: ['--check'] },
  size: {},
  demo: { names: ['file.htm', 'copy.htm'], wrong: { 'no-such.htm': /there is no file no-such\.htm/ } },
  bench: {
    names: [
      'row',
      '--postgres',
      '--rounds',
      '--peers',
      '--before',
      '--quick',
      '--strict',
      '--out',
      ' push ',
      'hostile',
    ],
    wrong: {
      'push fetch': /there is no row fetch; the rows are push, update/,
      '--rounds 0': /It must be a number of 1 or more/,
      '--before no-such': /there is no file no-such\/src\/service\/main\.ts/,
      'hostile --quick': /unknown option '--quick'/,
    },
  },
  explain: {
    names: ['operationId', '--postgres', '--all'],
    wrong: {
      '': /name an operation, such as pushChanges, or --all/,
      pushEverything: /there is no operation pushEverything; openapi.yaml has startLogin,/,
    },
  },
  cluster: {},
  minio: {},
  mock: { names: ['--signed-in <name>'] },
  picture: {},
  conform: {
    names: ['tool', '--clients', '--strict', '--examples'],
    wrong: { java: /tools and --strict are for --clients/, '--clients cobol': /cobol: the tools are hey-api/ },
  },
}

/** Scripts that run the program `ebs`, with its name there. */
const ebsNames: Record<string, string> = {
  start: 'ebs serve',
  ebs: 'ebs',
  ...Object.fromEntries(
    ['backup', 'admin', 'migrate', 'move', 'restore', 'restored', 'reseal'].map((name) => [name, `ebs ${name}`]),
  ),
}

const refused = Object.entries(scripts).flatMap(([name, { wrong }]) => {
  const unknown = { '--no-such-option': /unknown option '--no-such-option'/ }
  // All scripts handle unknown options alike, so one deep check is enough.
  const calls = { ...(isDeep ? unknown : {}), ...wrong }
  return Object.entries(calls).map(([args, says]) => ({ call: [name, args].join(' ').trim(), says }))
})

t.test('Each script of package.json has a help text', async (t) => {
  t.same(
    Object.keys(packageJson.scripts).filter((name) => !name.startsWith('pre')),
    Object.keys(scripts),
    'all scripts are listed here',
  )
  const said = await runAll(Object.keys(scripts).map((name) => `${name} --help`))
  const found = Object.entries(scripts).map(([name, { names = [] }]) => {
    const { code, stdout, stderr } = said[`${name} --help`] as Said
    const call = name in ebsNames ? ebsNames[name] : `npm run ${name} --`
    const words = stdout.replaceAll(/\s+/g, ' ')
    const lacks = [`Usage: ${call} `, '-h, --help', ...names].filter((part) => !words.includes(part))
    return { name, code, stderr, lacks }
  })
  t.same(
    found,
    Object.keys(scripts).map((name) => ({ name, code: 0, stderr: '', lacks: [] })),
  )
})

t.test('A wrong call of a script prints one line that says why, and exits with 2', async (t) => {
  const said = await runAll(refused.map(({ call }) => call))
  const answers = refused.map(({ call, says }) => [call, { code: 2, stdout: /^$/, stderr: says }])
  t.match(said, Object.fromEntries(answers))
  const lines = Object.entries(said).map(([call, { stderr }]) => [call, stderr.split('\n').length - 1])
  t.same(Object.fromEntries(lines.filter(([, count]) => count !== 1)), {}, 'one line each')
})

t.test('The help has colours where the terminal supports them, but not with NO_COLOR', async (t) => {
  const { stdout: plain } = await runScript('migrate --help')
  const { stdout: coloured } = await runScript('migrate --help', { FORCE_COLOR: '1' })
  t.not(coloured, plain)
  t.equal(stripVTControlCharacters(coloured), plain)
  t.equal((await runScript('migrate --help', { FORCE_COLOR: '1', NO_COLOR: '1' })).stdout, plain)
})

interface Said {
  code: number
  stdout: string
  stderr: string
}

/** Quick runs start one process. */
async function runAll(calls: string[]): Promise<Record<string, Said>> {
  if (!isDeep) return runTogether(calls)
  const said: Record<string, Said> = {}
  const waiting = [...calls]
  const worker = async () => {
    for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) said[call] = await runScript(call)
  }
  await Promise.all([worker(), worker()])
  return said
}

/** Runs the calls one after another in a single process, which loads their common modules once. */
async function runTogether(calls: string[]): Promise<Record<string, Said>> {
  const words = calls.map((call) => {
    const [name = '', ...args] = call.split(' ')
    const ofNode = packageJson.scripts[name as keyof typeof packageJson.scripts].split(' ').slice(1)
    return [call, name, ...ofNode.filter((word) => !word.startsWith('-')), ...args]
  })
  const script = fileURLToPath(new URL('./in-turn.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(words)], {
    env: { PATH: process.env.PATH ?? '', ...compileCache },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(await text(child.stdout))
}

/** Runs a script like npm. */
async function runScript(call: string, settings: Record<string, string> = {}): Promise<Said> {
  const [name = '', ...args] = call.split(' ')
  const [program, ...words] = packageJson.scripts[name as keyof typeof packageJson.scripts].split(' ')
  if (program !== 'node') throw new Error(`${name} is no script of Node`)
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [...words, ...args], {
    env: { PATH, ...compileCache, npm_lifecycle_event: name, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, 'close')
  const [stdout, stderr] = await printed
  return { code, stdout, stderr }
}

mock.timers.enable({ apis: ['setInterval', 'Date'] })
t.teardown(() => mock.timers.reset())

const colours = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g')

function outputOf(terminal: { isTTY?: true; columns?: number }) {
  const written: string[] = []
  return { written, output: { ...terminal, write: (text: string) => written.push(text.replaceAll(colours, '')) } }
}

const redraw = '\r\x1b[K'

t.test('On a terminal, the progress is a bar with a clock that also runs while the work waits', (t) => {
  const { written, output } = outputOf({ isTTY: true, columns: 60 })
  const log = t.capture(console, 'log')
  {
    using progress = new ProgressBar(output)
    progress.report('copying', 0, 4)
    progress.report('copying', 1, 4)
    progress.report('copying', 1, 4)
    mock.timers.tick(61_000)
    progress.print('a line')
    progress.report('a long name of what is being done now, and more', 7)
  }
  const [none, quarter] = ['░'.repeat(24), '█'.repeat(6) + '░'.repeat(18)]
  t.same(written.slice(0, 2), [`${redraw}${none} 0:00  copying: 0 of 4`, `${redraw}${quarter} 0:00  copying: 1 of 4`])
  t.same(written.slice(-5), [
    `${redraw}${quarter} 1:01  copying: 1 of 4`,
    redraw,
    `${redraw}${quarter} 1:01  copying: 1 of 4`,
    `${redraw}${none} 1:01  a long name of what is being`,
    redraw,
  ])
  t.same(pick(log(), 'args'), [['a line']])
  mock.timers.tick(61_000)
  t.equal(written.at(-1), redraw, 'the bar is removed once the work is done')
  t.end()
})

t.test('Without a terminal, the progress is a line every 30 s, and none for short work', (t) => {
  const { written, output } = outputOf({})
  using progress = new ProgressBar(output)
  progress.report('copying', 1, 4)
  mock.timers.tick(29_999)
  t.same(written, [])
  mock.timers.tick(1)
  progress.report('checking', 0, 1)
  mock.timers.tick(30_000)
  t.same(written, ['copying: 1 of 4 (0:30)\n', 'checking (1:00)\n'])
  t.end()
})

const printing = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { command, run } from '${new URL('../../src/service/terminal/command.ts', import.meta.url)}'
  await run(command('admin', 'prints').action(async () => {
    for (let line = 1; line <= 3; line++) {
      console.log(line)
      await sleep(5)
    }
  }))`

t.test('A command whose output is closed early, as by head, ends without an error message', async (t) => {
  // The reader exits before the first line is written.
  const shell = '"$0" --input-type=module -e "$1" | true'
  const child = spawn('sh', ['-c', shell, process.execPath, printing], {
    env: compileCache,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.equal(await text(child.stderr), '')
})
