import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { copyDatabase, openCopy } from '../../../src/service/backup/database.ts'
import { buildApp, type TestApp, type TestUser } from '../../support/app.ts'
import { runCommand } from '../../support/command.ts'
import { isPostgres } from '../../support/database-url.ts'
import { isDeep } from '../../support/depth.ts'
import { folder } from '../../support/service.ts'
import { type DrillService, runDrill } from './drill.ts'

/** The restore drill: a service loses edits, and three devices send them again. */

if (isPostgres) t.plan(0, 'test/postgres/restore-drill.test.ts')
else {
  t.test('After a recovery, the devices push the lost changes again, once, with their history', async (t) => {
    t.same(await runDrill(await onSqlite(t, true)), [])
  })

  t.test('Without a new epoch, the drill fails', async (t) => {
    const faults = await runDrill(await onSqlite(t, false))
    t.match(faults, ['a does not show what the service has', 'b does not show what the service has'])
  })
}

async function onSqlite(t: Test, beginsEpoch: boolean): Promise<DrillService> {
  const dataDir = await folder(t)
  const backup = join(await folder(t), 'backup')
  const database = join(dataDir, 'bookmarks.db')
  const env = { DATA_DIR: dataDir }
  const isCommand = isDeep && beginsEpoch
  let app: TestApp = await buildApp(t, { LOG_LEVEL: 'error' }, { dataDir })
  const ann = await app.user('ann')
  const user: TestUser = { ...ann, call: (...request) => app.as(ann).call(...request) }
  const copy = async () => {
    if (isCommand) await runCommand(t, 'backup', [backup], env)
    else await copyDatabase(database, backup)
    if (beginsEpoch && !isCommand) openCopy(backup, database).close()
  }
  return {
    user,
    async backUp(work) {
      let isDone = false
      const copying = copy().finally(() => {
        isDone = true
      })
      do await work()
      while (!isDone)
      await copying
    },
    async goBack() {
      await app.close()
      if (isCommand) await runCommand(t, 'restore', [backup], env)
      else {
        for (const suffix of ['', '-wal', '-shm']) await rm(database + suffix, { force: true })
        await copyFile(backup, database)
      }
      app = await buildApp(t, { LOG_LEVEL: 'error' }, { dataDir })
    },
  }
}
