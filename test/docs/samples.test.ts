import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { withSamples } from '../../scripts/contract/documents/samples.ts'
import { type Contract, operationsOf } from '../../scripts/contract/openapi.ts'
import { buildApp } from '../support/app.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const samples = operationsOf(withSamples(openapi as unknown as Contract)).map((operation) => {
  const { 'x-codeSamples': list } = operation as unknown as { 'x-codeSamples': { label: string; source: string }[] }
  const source = (label: string) => list.find((sample) => sample.label === label)?.source ?? ''
  return { operationId: operation.operationId, curl: source('curl'), typescript: source('TypeScript') }
})

t.test('Every TypeScript sample type-checks against the client package', async (t) => {
  const folder = await mkdtemp(join(root, 'node_modules/.samples-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const { operationId, typescript } of samples) await writeFile(join(folder, `${operationId}.ts`), typescript)
  const compilerOptions = {
    types: [],
    paths: { 'encrypted-bookmark-sync-client': [join(root, 'src/client/index.ts')] },
  }
  const project = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project))
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '-p', folder]).catch((error: { stdout: string }) => error)
  t.equal(stdout, '')
  t.ok(samples.length > 20 && samples.every(({ typescript }) => /client\.|WebSocket/.test(typescript)))
})

/** In this order, the values of earlier answers put in place of the examples' ids. */
const runnable = {
  getHealth: /"status":"(healthy|degraded)"/,
  getSession: /"authenticated":true/,
  createBookmark: /"encrypted_data"/,
  listBookmarks: /"total":1,/,
  getBookmark: /"encrypted_data"/,
  updateBookmark: /"encrypted_data"/,
  pushChanges: /"accepted":1/,
  importBookmarks: /"imported":[01]/,
  pullChanges: /"has_more":false/,
  getSyncStatus: /"pending_changes"/,
  setKeyring: /"revision":1/,
  getKeyring: /"revision":1/,
  setExportKey: /"success":true/,
  getExportKey: /"key":/,
  createExport: /"status":"processing"/,
  listExports: /"exports":\[\{/,
  openRealtime: /^HTTP\/1.1 101 /,
  deleteBookmark: /"success":true/,
  logout: /"success":true/,
}

t.test('The curl samples run as they stand', async (t) => {
  const app = await buildApp(t)
  const origin = await app.listen()
  const ada = await app.user('ada')
  const folder = await mkdtemp(join(tmpdir(), 'ebs-curl-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await mkdir(folder, { recursive: true })
  const cookie = (path: string, name: string, value: string) =>
    `127.0.0.1\tFALSE\t${path}\tFALSE\t0\t${name}\t${value}\n`
  const jar = `${cookie('/', 'service_session', ada.session)}${cookie('/api/v1/auth', 'service_refresh', ada.refresh)}`
  await writeFile(join(folder, 'jar'), `# Netscape HTTP Cookie File\n${jar}`)

  let bookmark = ''
  for (const [operationId, answer] of Object.entries(runnable)) {
    const { curl = '' } = samples.find((sample) => sample.operationId === operationId) ?? {}
    const command = curl
      .replaceAll('http://127.0.0.1:3000', origin)
      .replace(/(\/bookmarks\/)[\w-]+/, `$1${bookmark}`)
      .replaceAll(/0199f6a0-1c00-7000-8000-000000000001/g, ada.userId)
      .replace('-m 5 ', '-m 1 ')
    const { stdout } = await run('sh', ['-c', command], { cwd: folder }).catch((error: { stdout: string }) => error)
    t.match(stdout, answer, operationId)
    if (operationId === 'createBookmark') bookmark = JSON.parse(stdout).id
  }
})
