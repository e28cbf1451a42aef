import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { samples } from '../support/samples.ts'

const run = promisify(execFile)

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
