import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import { createKeyring } from '../../src/client/crypto/keyring.ts'
import { buildApp } from '../support/app.ts'
import { samples } from '../support/samples.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)

/** The expected output of each sample, in this order: ids from earlier responses replace those of later samples. */
const expected = {
  getHealth: /"status":"(healthy|degraded)"/,
  // There is no provider here. start.test.ts signs in with one.
  startLogin: /"error":"Failed to initiate login"/,
  completeLogin: /\/login\?error=/,
  getSession: /"authenticated":true/,
  getAccount: /"usage":/,
  createBookmark: /"encrypted_data"/,
  listBookmarks: /"total":1,/,
  getBookmark: /"encrypted_data"/,
  updateBookmark: /"encrypted_data"/,
  listVersions: /"reason":"superseded"/,
  restoreBookmark: /"encrypted_data"/,
  pushChanges: /"accepted":1/,
  importBookmarks: /"imported":[01]/,
  pullChanges: /"has_more":false/,
  getSyncStatus: /"pending_changes"/,
  listConflicts: /"conflicts":\[/,
  settleConflict: /"error":"Conflict not found"/,
  rewindBookmarks: /"restored":/,
  setKeyring: /"revision":1/,
  getKeyring: /"revision":1/,
  setExportKey: /"success":true/,
  getExportKey: /"key":/,
  createExport: /"status":"processing"/,
  listExports: /"exports":\[\{/,
  downloadExport: /^$/,
  deleteExport: /"success":true/,
  openRealtime: /^HTTP\/1.1 101 /,
  deleteBookmark: /"success":true/,
  listTrash: /"bookmarks":\[\{/,
  purgeBookmark: /"success":true/,
  listDevices: /"laptop-7f3a"/,
  renameDevice: /"error":"Device not found"/,
  forgetDevice: /"error":"Device not found"/,
  listKeyringVersions: /"versions":\[\]/,
  restoreKeyring: /"error":"Keyring not found"/,
  eraseKeyringVersions: /"success":true/,
  getPairing: /"error":"Pairing not found"/,
  sendToPairing: /"step":0,"message":"/,
  endPairing: /"success":true/,
  reservePairing: /"error":"Pairing not found"/,
  listSessions: /"sessions":\[\{/,
  endSession: /"error":"Session not found"/,
  endOtherSessions: /"success":true/,
  refreshSession: /"success":true/,
  logout: /"success":true/,
  deleteAccount: /"success":true/,
}

t.test('The curl samples of all operations run unchanged except for ids', async (t) => {
  t.same(Object.keys(expected).sort(), Object.keys(operations).sort())
  const app = await buildApp(t)
  const origin = await app.listen()
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const folder = await mkdtemp(join(tmpdir(), 'ebs-curl-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const cookie = (path: string, name: string, value: string) =>
    `127.0.0.1\tFALSE\t${path}\tFALSE\t0\t${name}\t${value}\n`
  const signInAs = ({ session, refresh }: typeof ada) => {
    const jar = `${cookie('/', 'service_session', session)}${cookie('/api/v1/auth', 'service_refresh', refresh)}`
    return writeFile(join(folder, 'jar'), `# Netscape HTTP Cookie File\n${jar}`)
  }
  await signInAs(ada)
  const { keyring } = await createKeyring({ userId: ada.userId, passphrase: 'correct horse battery' })
  await writeFile(join(folder, 'keyring.json'), JSON.stringify({ keyring, revision: 1 }))

  const ids = { bookmark: '', version: '', exported: '' }
  for (const [operationId, answer] of Object.entries(expected)) {
    if (operationId === 'deleteAccount') await signInAs(bob)
    const { curl = '' } = samples.find((sample) => sample.operationId === operationId) ?? {}
    const command = curl
      .replaceAll('http://127.0.0.1:3000', origin)
      .replace(/(\/(?:bookmarks|trash)\/)[\w-]+/, `$1${ids.bookmark}`)
      .replace(/(\/exports\/)[\w-]+/, `$1${ids.exported}`)
      .replace(/("version_id": ?")[\w-]+/, `$1${ids.version}`)
      .replaceAll(/0199f6a0-1c00-7000-8000-000000000001/g, ada.userId)
      .replace('-m 5 ', '-m 1 ')
    const { stdout } = await run('sh', ['-c', command], { cwd: folder }).catch((error: { stdout: string }) => error)
    t.match(stdout, answer, operationId)
    if (operationId === 'createBookmark') ids.bookmark = JSON.parse(stdout).id
    if (operationId === 'listVersions') ids.version = JSON.parse(stdout).versions[0].version_id
    if (operationId !== 'createExport') continue
    ids.exported = JSON.parse(stdout).id
    await until(async () => (await ada.call('GET', '/api/v1/exports')).body.exports[0].status === 'completed')
  }
})
