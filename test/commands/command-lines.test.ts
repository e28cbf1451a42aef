/** How each script of package.json is called: what it says of itself, and what it says of a call in a wrong way. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { compileCache } from '../support/compile-cache.ts'

interface Script {
  /** Options and arguments that the help names. */
  names?: string[]
  /** Wrong calls, beside an unknown option, and what is said of them. */
  wrong?: [args: string[], says: RegExp][]
}

const missing = /missing required argument/
const tooMany = /too many arguments/
const scripts: Record<string, Script> = {
  backup: {
    names: ['<folder>'],
    wrong: [
      [[], missing],
      [['one', 'two'], tooMany],
    ],
  },
  restore: {
    names: ['<backup>'],
    wrong: [
      [[], missing],
      [['no-such-folder'], /there is no file .*no-such-folder\/bookmarks\.db/],
    ],
  },
  admin: {
    names: ['users', 'disable <user-id>', 'enable <user-id>', 'delete <user-id>', 'recount'],
    wrong: [
      [[], /no command: one of users, disable, enable, delete, recount/],
      [['destroy'], /there is no command destroy: one of users/],
      [['disable'], missing],
    ],
  },
  migrate: { wrong: [[['now'], tooMany]] },
  restored: {},
  reseal: {},
}

t.test('Each script explains itself, and refuses a wrong call with one line and status 2', async (t) => {
  const calls = Object.entries(scripts).flatMap(([name, { wrong = [] }]) => [
    [name, '--help'],
    [name, '--no-such-option'],
    ...wrong.map(([args]) => [name, ...args]),
  ])
  const said: Record<string, unknown> = {}
  const waiting = [...calls]
  const worker = async () => {
    for (let call = waiting.shift(); call; call = waiting.shift()) said[call.join(' ')] = await runScript(call)
  }
  await Promise.all([worker(), worker()])

  const refusal = (says: RegExp) => ({ code: 2, stdout: /^$/, stderr: says, lines: 1 })
  const expected = Object.entries(scripts).flatMap(([name, { names = [], wrong = [] }]) => [
    [`${name} --help`, { code: 0, stdout: new RegExp(`^Usage: npm (run )?${name} -- `), stderr: /^$/ }],
    [`${name} --no-such-option`, refusal(/unknown option '--no-such-option'/)],
    ...wrong.map(([args, says]) => [[name, ...args].join(' '), refusal(says)]),
    ...names.map((each) => [`${name} --help`, { stdout: each }]),
  ])
  for (const [call, answer] of expected) t.match(said[String(call)], answer, String(call))
})

/** As npm runs it. */
async function runScript([name = '', ...args]: string[]) {
  const [program, ...words] = packageJson.scripts[name as keyof typeof packageJson.scripts].split(' ')
  if (program !== 'node') throw new Error(`${name} is no script of Node`)
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [...words, ...args], {
    env: { PATH, ...compileCache, npm_lifecycle_event: name },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, 'close')
  const [stdout, stderr] = await printed
  return { code, stdout, stderr, lines: stderr.split('\n').length - 1 }
}
