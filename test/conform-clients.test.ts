/** `npm run conform -- --clients`; with --deep, also the stories of hey-api and orval. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { chooseTools, conformClients, writeTable } from '../scripts/conform/clients/clients.ts'
import type { Tool } from '../scripts/conform/clients/tool.ts'
import { spawnService } from '../scripts/servers/service.ts'
import { isDeep } from './support/depth.ts'

const nowhere = new URL('http://127.0.0.1:9')
const trial: Tool = { name: 'trial', version: '1', language: 'None', needs: ['node'], generate: [], build: [] }

/** Tries one tool, and returns the lines below the table's head. */
async function conform(t: Test, tool: Tool, strict = false) {
  const log = t.capture(console, 'log')
  const { passes } = await conformClients(nowhere, { orval: tool }, strict)
  const [, ...lines] = log().flatMap(({ args }) => `${args[0]}`.split('\n'))
  return { passes, lines }
}

t.test('A tool that the machine lacks is reported as not run, and fails a strict run only', async (t) => {
  const tool: Tool = { ...trial, needs: ['node', 'no-such-compiler'], story: 'node' }
  const lines = [/^trial +1 +None +not run +not run$/, '    there is no no-such-compiler']
  t.match(await conform(t, tool), { passes: true, lines })
  t.match(await conform(t, tool, true), { passes: false, lines })
})

t.test('A client that does not build fails, with what its compiler printed', async (t) => {
  const compiler = 'echo no int in line 7; false'
  const { passes, lines } = await conform(t, { ...trial, build: [compiler], story: 'node' })
  t.equal(passes, false)
  t.match(lines, [/^trial +1 +None +no +not run$/, /^ {4}echo no int/, '    no int in line 7'])
})

t.test('A tool without a story passes when what it generates builds', async (t) => {
  const tool: Tool = { ...trial, build: ['test -f openapi.yaml && test -f asyncapi.yaml'] }
  t.match(await conform(t, tool, true), { passes: true, lines: [/^trial +1 +None +yes +none$/] })
})

t.test('A tool that is known not to build fails once it does', async (t) => {
  const tool: Tool = { ...trial, breaks: 'no int in line 7' }
  t.match(await conform(t, { ...tool, build: ['false'] }, true), { passes: true })
  t.match(await conform(t, { ...tool, build: ['true'] }, true), { passes: false })
})

t.test('The table of the guide gets the rows of the tools that were run', async (t) => {
  const folder = t.testdir({ 'guide.md': 'Before\n\n| T | V |\n|---|---|---|---|---|\n| gone | 1 |\n\nAfter\n' })
  const guide = pathToFileURL(join(folder, 'guide.md'))
  const rows = async () => (await readFile(guide, 'utf8')).split('\n').filter((line) => /orval|hey-api|gone/.test(line))
  await writeTable(guide, new Map([['orval', { builds: 'yes', story: 'no' }]]))
  t.match(await rows(), [/^\| hey-api .* \| not run \| not run \|$/, /^\| orval .* \| yes \| no \|$/])
  await writeTable(guide, new Map([['hey-api', { builds: 'generated', story: 'none' }]]))
  t.match(await rows(), [/^\| hey-api .* \| generated \| – \|$/, /^\| orval .* \| yes \| no \|$/])
  t.match(await readFile(guide, 'utf8'), /^Before\n\n\| T.*\n\nAfter\n$/s)
})

t.test('An unknown tool cannot be chosen', async (t) => {
  t.strictSame(Object.keys(chooseTools(['rust', 'java'])), ['java', 'rust'])
  t.throws(() => chooseTools(['cobol', 'java']), /^cobol: the tools are hey-api, /)
})

t.test('Generated clients pass their story', { skip: !isDeep && 'only with --deep' }, async (t) => {
  const service = await spawnService(t.testdir())
  t.teardown(() => service.stop())
  await service.ready()
  const chosen = chooseTools(['hey-api', 'orval'])
  t.match(await conformClients(service.url, chosen, true), { passes: true })
  const idle = { orval: { ...trial, story: 'true' } }
  const { attempts } = await conformClients(service.url, idle, true)
  t.match(attempts.get('orval'), { story: 'no', complaint: 'the session outlives the sign-out' })
})
