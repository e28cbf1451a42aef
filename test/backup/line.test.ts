/** If the database is missing and there are backups, the service does not start. It keeps backups of another database. */
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openShelf } from '../../src/service/backup/schedule.ts'
import { nameOf } from '../../src/service/backup/shelf.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { deep, isDeep } from '../support/depth.ts'
import { silent } from '../support/log.ts'
import { sharedMinio } from '../support/minio.ts'
import { createFakeS3, startTlsServer } from '../support/s3-servers.ts'
import { folder, run } from '../support/service.ts'

const SECRET_KEY = Buffer.alloc(32, 9).toString('base64')

/** A data folder with one change, and one backup of it. */
async function prepare(t: Test, to: Record<string, string>) {
  const home = await folder(t)
  const dataDir = join(home, 'data')
  const env = { SECRET_KEY, BACKUP_EVERY: '1h', BACKUP_KEEP: '1', BACKUP_TO: join(home, 'backups'), ...to }
  await mkdir(dataDir)
  await begin(dataDir)
  const app = await buildApp(t, { SECRET_KEY }, { dataDir })
  const ada = await app.user('ada')
  await push(ada, change({ entity_id: 'saved' }))
  // Only after a clean stop is there no log next to the database.
  await app.close()
  const again = await buildApp(t, env, { dataDir })
  const { scrapeUntil } = openAdmin(t, again)
  await scrapeUntil((metrics) => Number(metrics.value('ebs_backup_last_success_seconds')) > 0)
  await again.close()
  return { home, dataDir, ada, env }
}

/** Creates a database with a new id, as `ebs migrate` does. */
async function begin(dataDir: string): Promise<void> {
  await (await openDatabase(`sqlite:${join(dataDir, 'bookmarks.db')}`, silent)).close()
}

/** The message of a start that refuses. */
async function refusal(t: Test, env: Record<string, string>): Promise<string> {
  const service = run(t, { PORT: '0', DEV_IDP_PORT: '0', ...env })
  t.match(await service.exited, { code: 1 })
  return service.stderr()
}

const refused =
  /^(\{.*"msg":")?DATABASE_URL: there is no database in \S+bookmarks\.db, while BACKUP_TO \(\S+\) has 1 backups\. .*if all are of one database: .*restore.* latest; .*--list shows those in BACKUP_TO\. .*migrate/m

t.test('A start makes no new database if BACKUP_TO has backups, and names both ways to continue', async (t) => {
  const { home, dataDir, ada, env } = await prepare(t, {})
  const own = { ...env, DATA_DIR: dataDir }
  const kept = join(home, 'kept')
  await rename(dataDir, kept)
  const [backup = ''] = await readdir(env.BACKUP_TO)

  t.match(await refusal(t, own), refused, 'the folder of the data is gone')
  t.notOk(existsSync(join(dataDir, 'bookmarks.db')))
  await mkdir(dataDir, { recursive: true })
  await writeFile(join(dataDir, 'bookmarks.db'), '')
  t.match(await refusal(t, own), refused, 'the database is empty')
  t.match(await refusal(t, { ...own, DATA_DIR: kept, DATABASE_URL: `sqlite:${home}/wrong/bookmarks.db` }), refused)
  t.same(await readdir(env.BACKUP_TO), [backup])

  t.match(await runCommand(t, 'restore', ['latest'], own), { code: 0, stderr: '' })
  const recovered = await buildApp(t, env, { dataDir })
  t.match((await pullAll(recovered.as(ada))).changes, [{ entity_id: 'saved' }])
})

t.test(
  'This also holds without BACKUP_EVERY, and for backups in DATA_DIR; without backups a start makes one',
  async (t) => {
    const { env } = await prepare(t, {})
    const [first, second] = [await folder(t), await folder(t)]
    const { BACKUP_EVERY, ...unscheduled } = env
    t.match(await refusal(t, { ...unscheduled, DATA_DIR: first }), refused)
    await cp(env.BACKUP_TO, join(first, 'backups'), { recursive: true })
    const elsewhere = { ...unscheduled, BACKUP_TO: join(second, 'none') }
    const inData = new RegExp(`while ${first}/backups has 1 backups\\. .* ${first}/backups; `)
    t.match(await refusal(t, { ...elsewhere, DATA_DIR: first }), inData)
    const empty = await buildApp(t, { ...env, BACKUP_TO: join(second, 'none') }, { dataDir: second })
    t.equal((await empty.call('GET', '/api/v1/health')).status, 200)
  },
)

// As with a folder, in the first test.
deep(t, 'A start makes no new database if the bucket has backups', async (t) => {
  const minio = await sharedMinio(t)
  if (typeof minio === 'string') return t.plan(0, minio)
  const { env } = await prepare(t, { ...(await minio.createBucket()), BACKUP_TO: 's3' })
  const DATA_DIR = await folder(t)
  const { NODE_EXTRA_CA_CERTS = '' } = process.env
  t.match(await refusal(t, { ...env, DATA_DIR, ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }) }), refused)
  t.match(await runCommand(t, 'restore', ['latest'], { ...env, DATA_DIR }), { code: 0, stderr: '' })
  const recovered = await buildApp(t, env, { dataDir: DATA_DIR })
  t.equal((await recovered.call('GET', '/api/v1/health')).status, 200)
})

t.test('An unfinished upload is not a backup', async (t) => {
  // Like Amazon, and unlike MinIO, this store lists uploads by prefix.
  const upload = `<Upload><Key>backups/${nameOf(Date.now())}.db</Key><UploadId>a</UploadId></Upload>`
  const objects = createFakeS3({ ssec: 'kept' })
  const bucket = await startTlsServer(t, (request, response) => {
    const { url = '' } = request
    if (url.includes('list-type=2')) return response.end('<ListBucketResult><Name>exports</Name></ListBucketResult>')
    if (!url.includes('?uploads')) return objects(request, response)
    return response.end(`<ListMultipartUploadsResult>${upload}${upload}</ListMultipartUploadsResult>`)
  })
  const [dataDir, env] = [await folder(t), { ...bucket, SECRET_KEY, BACKUP_TO: 's3' }]
  const restored = await runCommand(t, 'restore', ['latest'], { ...env, DATA_DIR: dataDir })
  t.match(restored, { code: 1, stderr: /there is no backup in exports/ })
  const app = await buildApp(t, env, { dataDir })
  t.equal((await app.call('GET', '/api/v1/health')).status, 200, 'a start makes a new database')
})

t.test('A new database is backed up next to the backups of the lost one, which are all kept', async (t) => {
  // Only deep runs also have the backups in a bucket.
  const minio = isDeep ? await sharedMinio(t) : 'none'
  for (const to of typeof minio === 'string' ? [{}] : [{}, { ...(await minio.createBucket()), BACKUP_TO: 's3' }]) {
    const { env, dataDir: lost, ada } = await prepare(t, to)
    const dataDir = await folder(t)
    t.match(
      await runCommand(t, 'migrate', [], { ...env, DATA_DIR: dataDir }),
      { code: 0 },
      'migrate makes a new database anyway',
    )
    const app = await buildApp(t, env, { dataDir })
    const { scrapeUntil } = openAdmin(t, app)
    await scrapeUntil((metrics) => Number(metrics.value('ebs_backup_last_success_seconds')) > 0)
    await app.close()
    const names = app.log.map((line) => JSON.parse(line)).filter(({ backup }) => backup !== undefined)
    const [kept, made] = ['a backup is of another database, or cannot be read: it is never removed', 'made a backup']
    t.match(names, [
      { level: 50, msg: kept },
      { level: 30, msg: made },
    ])
    const listed = await runCommand(t, 'restore', ['--list'], { ...env, DATA_DIR: dataDir })
    t.match(
      listed.stdout,
      new RegExp(`^${names[0].backup} .*, of another database made 20\\S+Z\n${names[1].backup} .*\n2 backups`),
    )
    t.match(await runCommand(t, 'restore', [nameIn(env.BACKUP_TO, names[0].backup)], { ...env, DATA_DIR: lost }), {
      code: 0,
      stderr: '',
    })
    const recovered = await buildApp(t, env, { dataDir: lost })
    t.match((await pullAll(recovered.as(ada))).changes, [{ entity_id: 'saved' }])
    await recovered.close()
  }
})

deep(t, '`latest` never means a backup of another database, and needs a database here', async (t) => {
  const minio = await sharedMinio(t)
  for (const to of typeof minio === 'string' ? [{}] : [{}, { ...(await minio.createBucket()), BACKUP_TO: 's3' }]) {
    const { env, dataDir, ada } = await prepare(t, to)
    const [another, third, gone] = [await folder(t), await folder(t), await folder(t)]
    for (const dataDir of [another, third]) await begin(dataDir)
    const place = openShelf(readConfig({ ...env, DATA_DIR: another }), [Buffer.from(SECRET_KEY, 'base64')])
    const [own = ''] = await place.list()
    const foreign = nameOf(Date.now())
    await place.add(foreign, new AbortController().signal)
    const restore = (DATA_DIR: string, ...args: string[]) => runCommand(t, 'restore', args, { ...env, DATA_DIR })

    const opens = env.BACKUP_TO === 's3' ? 'opens with SECRET_KEY' : 'has nothing sealed'
    const marked = `${own} .*, opens with SECRET_KEY\n${foreign} .*, ${opens}, of another database made 20\\S+Z\n2 b`
    t.match((await restore(dataDir, '--list')).stdout, new RegExp(`^${marked}`))
    const both = new RegExp(`^${own} .*, of the database made 20\\S+Z\n${foreign} .*, of the database made 20\\S+Z\n`)
    t.match((await restore(gone, '--list')).stdout, both)

    const named = `(\\S+/)?${own} \\(made 20\\S+Z\\), (\\S+/)?${foreign} \\(made 20\\S+Z\\)$`
    const noneHere = new RegExp(`^\\S+ has backups of 2 databases, and .*: ${named}`, 'm')
    const noneOwn = new RegExp(`^\\S+ has no backup of \\S+bookmarks\\.db, only .*: ${named}`, 'm')
    for (const words of [['latest'], ['--check']]) {
      t.match(await restore(gone, ...words), { code: 1, stdout: '', stderr: noneHere })
      t.match(await restore(third, ...words), { code: 1, stdout: '', stderr: noneOwn })
    }
    t.same(await readdir(gone), [])
    const passed = new RegExp(`^passed over: ${foreign}, which is of another database\n(.*\n)*.* users 1,`)
    t.match(await restore(dataDir, '--check'), { code: 0, stderr: '', stdout: passed })
    t.match(await restore(dataDir, 'latest'), { code: 0, stderr: '', stdout: passed })
    const recovered = await buildApp(t, {}, { dataDir })
    t.match((await pullAll(recovered.as(ada))).changes, [{ entity_id: 'saved' }])
    await recovered.close()
    t.match(await restore(dataDir, foreign), { code: 0, stderr: '', stdout: / users 0,/ })
  }
})

function nameIn(to: string, name: string): string {
  return to === 's3' ? name : join(to, name)
}
