/** Runs the systemd commands of docs/operating/deployment.md in a folder that stands for the machine, on a free port. */
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { folder } from '../support/service.ts'
import { read } from './files.ts'

const name = 'encrypted-bookmark-sync'
const blocks = [...read('docs/operating/deployment.md').matchAll(/^```sh\n(.*?)^```/gms)].map(([, code = '']) => code)
const [install, upgrade, goBack] = ['set -eC\n', 'rm -rf "$home.part"\n', 'readlink -e "$home.previous"'].map(
  (line) => {
    const found = blocks.filter((code) => code.includes(line) && code.includes(name))
    if (found.length !== 1) throw new Error(`${found.length} blocks have ${line}`)
    return found[0] ?? ''
  },
) as [string, string, string]

/** Stands for the bundle. On each request it reads its version from a file and returns it. */
const program = `
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
const beside = (name) => new URL(name, import.meta.url)
if (!existsSync(beside('node_modules'))) throw new Error('nothing was installed')
if (process.argv[2] !== 'serve') throw new Error('the unit says something else')
createServer((request, response) => {
  const { version } = JSON.parse(readFileSync(beside('package.json'), 'utf8'))
  response.end(JSON.stringify({ status: "healthy", version }))
}).listen(Number(process.env.PORT), '127.0.0.1')
`
const npm = `#!/bin/sh
set -e
case "$1 $2" in
  'run build') rm -rf dist/service; mkdir -p dist; cp -r next dist/service ;;
  'install --omit=optional') [ ! -e fails ]; mkdir node_modules ;;
  'ci ') ;;
  *) exit 9 ;;
esac
`
const systemctl = `#!/bin/sh
set -e
[ "$2" = ${name} ]
case $1 in
  start) [ ! -e "$MACHINE/pid" ]; cd "$MACHINE/opt/${name}"; $EXEC_START > /dev/null 2>&1 & echo $! > "$MACHINE/pid" ;;
  stop) kill "$(cat "$MACHINE/pid")"; while kill -0 "$(cat "$MACHINE/pid")" 2> /dev/null; do sleep 0.05; done; rm "$MACHINE/pid" ;;
  *) exit 9 ;;
esac
`

/** A folder that stands for a machine with a checkout, in which `run` runs commands of the guide. */
async function setUp(t: Test) {
  const at = await folder(t)
  const port = await freePort()
  for (const each of ['opt', 'etc', 'bin', 'checkout/next', 'checkout/deploy/systemd'])
    await mkdir(join(at, each), { recursive: true })
  for (const [file, code] of Object.entries({ npm, systemctl })) {
    await writeFile(join(at, 'bin', file), code)
    await chmod(join(at, 'bin', file), 0o755)
  }
  await writeFile(join(at, 'checkout/deploy/systemd/environment.sample'), read('deploy/systemd/environment.sample'))
  const here = (text: string) =>
    text.replaceAll(/(?<![\w"])\/(?=(opt|etc)\/)/g, `${at}/`).replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
  const execStart = here(/^ExecStart=(.*)$/m.exec(read(`deploy/systemd/${name}.service`))?.[1] ?? '')
  const env = {
    PATH: `${join(at, 'bin')}:${dirname(process.execPath)}:${process.env.PATH}`,
    MACHINE: at,
    PORT: `${port}`,
    EXEC_START: execStart.replace('/usr/bin/node', process.execPath),
  }
  const run = (lines: string) => {
    const { status, stderr } = spawnSync('sh', { cwd: join(at, 'checkout'), env, input: here(lines), encoding: 'utf8' })
    return { status, stderr }
  }
  t.teardown(() => run(`systemctl stop ${name}`))
  return {
    at,
    run,
    /** Changes the version of the checkout. */
    async checkOut(version: string) {
      const next = join(at, 'checkout/next')
      await writeFile(join(next, 'package.json'), JSON.stringify({ version, type: 'module' }))
      await writeFile(join(next, 'ebs.mjs'), program)
    },
    async serving() {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/health`, { headers: { connection: 'close' } })
      return ((await answer.json()) as { version?: string }).version
    },
    installed: async () => (await readdir(join(at, 'opt'))).filter((entry) => /\d$|before$|part$/.test(entry)).sort(),
  }
}

t.test('After each of three upgrades the new version serves, and going back starts the one before', async (t) => {
  const { at, run, checkOut, serving, installed } = await setUp(t)
  await checkOut('1.0.0')
  t.match(run(install), { status: 0 })
  const key = await readFile(join(at, `etc/${name}/secret_key`), 'utf8')
  t.equal(Buffer.from(key, 'base64').length, 32)
  t.equal(await readFile(join(at, `etc/${name}/environment`), 'utf8'), read('deploy/systemd/environment.sample'))
  t.match(run(`systemctl start ${name}\ncurl -s --retry 60 --retry-all-errors http://127.0.0.1:3000`), { status: 0 })
  t.equal(await serving(), '1.0.0')

  for (const version of ['2.0.0', '3.0.0', '4.0.0']) {
    await checkOut(version)
    t.match(run(upgrade), { status: 0 }, version)
    t.equal(await serving(), version)
  }
  t.same(
    await installed(),
    ['1.0.0', '2.0.0', '3.0.0', '4.0.0'].map((version) => `${name}-${version}`),
  )
  t.match(run(goBack), { status: 0 })
  t.equal(await serving(), '3.0.0')
  await checkOut('5.0.0')
  t.match(run(upgrade), { status: 0 })
  t.equal(await serving(), '5.0.0')
  t.match(run(goBack), { status: 0 })
  t.equal(await serving(), '3.0.0', 'the version that ran before, not the newest other one')
  t.not(run(install).status, 0, 'a second installation is refused')
  t.equal(await readFile(join(at, `etc/${name}/secret_key`), 'utf8'), key, 'the key is unchanged')
})

t.test('The first upgrade keeps the unversioned folder of an earlier release as the version before', async (t) => {
  const { at, run, checkOut, serving, installed } = await setUp(t)
  await checkOut('1.0.0')
  const lines = `npm run build\ncp -r dist/service /opt/${name}\ncd /opt/${name} && npm install --omit=optional`
  t.match(run(`${lines}\nsystemctl start ${name}`), { status: 0 })
  await checkOut('2.0.0')
  t.match(run(upgrade), { status: 0 })
  t.equal(await serving(), '2.0.0')
  t.same(await installed(), [`${name}-2.0.0`, `${name}-before`])
  t.match(run(goBack), { status: 0 })
  t.equal(await serving(), '1.0.0')
  t.ok(await readFile(join(at, `opt/${name}-before/ebs.mjs`)))
})

t.test('A failed upgrade leaves the running version in place, and the same commands succeed later', async (t) => {
  const { at, run, checkOut, serving, installed } = await setUp(t)
  await checkOut('1.0.0')
  t.match(run(`${install}\nsystemctl start ${name}`), { status: 0 })
  await checkOut('2.0.0')
  await writeFile(join(at, 'checkout/next/fails'), '')
  t.not(run(upgrade).status, 0, 'the packages cannot be installed')
  t.same(await installed(), [`${name}-1.0.0`, `${name}.part`])
  t.match(run('rm next/fails\ncurl -s --retry 60 --retry-all-errors http://127.0.0.1:3000'), { status: 0 })
  t.equal(await serving(), '1.0.0')
  t.match(run(upgrade), { status: 0 }, 'the same commands again')
  t.equal(await serving(), '2.0.0')
  t.not(run(upgrade).status, 0, 'the version is installed already')
  t.equal(await serving(), '2.0.0')
})
