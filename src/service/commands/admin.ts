import { pino } from 'pino'
import { dayMs } from '../../protocol/order.ts'
import { type Config, readConfig } from '../config/config.ts'
import { sqliteFile } from '../config/storage.ts'
import { attemptRead } from '../db/engine/probe.ts'
import { isIntact, refuseForeignLog } from '../db/engine/sqlite/foreign-log.ts'
import { type CommandDatabase, openForCommand } from '../db/for-command.ts'
import { acceptClock } from '../operating/clock.ts'
import { damageAdvice } from '../operating/damage.ts'
import { findClockFault } from '../operating/health.ts'
import { acceptLimits, listAnnounced, listSmaller } from '../operating/limits-guard.ts'
import { issuerOf } from '../provider/issuer.ts'
import { existingFile, operatorCommand, UsageError } from '../terminal/command.ts'
import { withProgress } from '../terminal/progress.ts'
import { describeBeyond } from '../upkeep/beyond-limits.ts'
import { checkFile, checkUsers } from '../upkeep/check.ts'
import { recount } from '../upkeep/recount.ts'
import { deviceDays } from '../upkeep/rows.ts'
import {
  disableUser,
  enableUser,
  endSessionOf,
  listSessions,
  listUsers,
  quotaOf,
  removeUser,
  undeleteUser,
} from './accounts.ts'
import { exportUser } from './export-user.ts'
import { moveIssuer } from './move-issuer.ts'
import { restoreUser } from './restore-user.ts'

const asJson = ['--json', 'one JSON object per line, for programs'] as const
const userId = ['<user-id>', 'as `users` lists it'] as const

export const adminCommand = operatorCommand('admin', 'Commands for users and their data. The service can keep running.')
  .usage('<command>')
  .argument('[command]')
  // Reports a wrong call before `ebs` checks who owns the data.
  .hook('preAction', (_, called) => {
    if (called !== adminCommand) return
    const [name] = called.args
    const names = adminCommand.commands.map((each) => each.name()).join(', ')
    throw new UsageError(`${name === undefined ? 'no command' : `there is no command ${name}`}: one of ${names}`)
  })
  .action(() => {})
adminCommand
  .command('users')
  .description("lists each user's id, e-mail address, bytes, records and when they were last seen")
  .option('--search <text>', 'only users whose id begins with this text, or whose e-mail address contains it')
  .option(...asJson)
  .action((options: { search?: string; json?: true }) => withDatabase((database) => listUsers(database, options)))
adminCommand
  .command('sessions')
  .description('lists the sessions of a user, or ends one of them')
  .argument(...userId)
  .option('--end <session-id>', 'ends this session: its device has to sign in again')
  .option(...asJson)
  .action((id: string, { end, json }: { end?: string; json?: true }) =>
    withDatabase((database) =>
      end === undefined ? listSessions(database, id, json ? { json } : {}) : endSessionOf(database, id, end),
    ),
  )
adminCommand
  .command('quota')
  .description('shows how many bytes a user may store, or sets it for this user alone')
  .argument(...userId)
  .argument('[bytes]', 'a number, or `default` for MAX_USER_BYTES')
  .option('--yes', 'sets it even if the user stores more')
  .action((id: string, bytes: string | undefined, { yes = false }: { yes?: boolean }) =>
    withDatabase((database) => quotaOf(database, id, { bytes, yes }, readConfig(process.env).maxUserBytes)),
  )
for (const [name, does, work] of [
  ['disable', 'signs a user out everywhere, and lets nobody sign in as this user until `enable`', disableUser],
  ['enable', 'lets the user sign in again', enableUser],
] as const)
  adminCommand
    .command(name)
    .description(does)
    .argument(...userId)
    .action((id: string) => withDatabase((database) => work(database, id)))
adminCommand
  .command('delete')
  .description('shows an account and, with --yes, deletes it; the service erases its data a day later')
  .argument(...userId)
  .option('--yes', 'deletes it')
  .action((id: string, options: { yes?: true }) => withDatabase((database) => removeUser(database, id, options)))
adminCommand
  .command('undelete')
  .description('brings back an account that `delete` deleted within the last day; without an id, lists these accounts')
  .argument('[user-id]')
  .action((id?: string) => withDatabase((database) => undeleteUser(database, id)))
adminCommand
  .command('export')
  .description('writes everything stored about a user except tokens and keys, a JSON object for each row')
  .argument(...userId)
  .action((id: string) => withDatabase((database) => exportUser(database, id)))
adminCommand
  .command('restore')
  .description('brings back an erased user from a backup, and changes no other user')
  .argument(...userId)
  .argument(
    '<backup>',
    'its folder; for Postgres, a file with the DATABASE_URL of a database into which the dump was loaded',
  )
  .action((id: string, backup: string) => withDatabase((database) => restoreUser(database, id, backup)))
adminCommand
  .command('move-issuer')
  .description("lets the users of one provider's issuer sign in at another's, where they keep everything")
  .argument('<old>', 'their current issuer, as `ebs doctor` shows it')
  .argument('<new>', "the new provider's issuer: OIDC_ISSUER")
  .option(
    '--map <file>',
    'a CSV file that maps users, with the header old_subject or old_email, new_subject or new_email',
    existingFile,
  )
  .option('--dry-run', 'shows what would happen to each user, and changes nothing')
  .action((from: string, to: string, { map, dryRun }: { map?: string; dryRun?: true }) => {
    for (const issuer of [from, to])
      if (!/^https?:$/.test(URL.parse(issuer)?.protocol ?? ''))
        throw new UsageError(`${issuer} is not an issuer: it must be a URL`)
    if (from === to) throw new UsageError('the two issuers are the same')
    return withDatabase((database) =>
      moveIssuer(database, { from, to, map, dryRun }, issuerOf(readConfig(process.env))),
    )
  })
adminCommand
  .command('recount')
  .description('counts again what each user stores, and corrects their counters')
  .action(() => withDatabase(recountAll))
adminCommand
  .command('check')
  .description('reads all data, and names the users whose rows are damaged; on SQLite, also checks the whole file')
  .action(() => {
    const file = sqliteFile(readConfig(process.env).databaseServer.directUrl)
    if (file !== undefined) refuseForeignLog(file, isIntact)
    return withDatabase(checkAll)
  })
adminCommand
  .command('accept-clock')
  .description('accepts a clock that has jumped, so that expired data is erased: check the clock first')
  .action(() =>
    withDatabase(async (database) => {
      const fault = await findClockFault(database)
      if (fault !== undefined) throw new Error(`${fault}: nothing was accepted; synchronize both clocks`)
      console.log(`${await acceptClock(database)}; it is accepted from now on`)
      console.log(nextSweepText(readConfig(process.env), Date.now()))
    }),
  )

adminCommand
  .command('accept-limits')
  .description(
    'shows what a smaller KEEP_VERSIONS_DAYS or MAX_USER_BYTES of the running service would erase and, with --yes, puts it in force at once',
  )
  .option('--yes', 'puts it in force')
  .action((options: { yes?: true }) => withDatabase((database) => acceptAnnounced(database, options)))

/** Accepts the limits that the service has announced. The environment of this command may have others. */
async function acceptAnnounced(database: CommandDatabase, { yes }: { yes?: true }): Promise<void> {
  const announced = await listAnnounced(database.db)
  for (const limit of announced) {
    const beyond = await describeBeyond(database.db, limit, Date.now())
    console.log(
      `${limit.variable} is ${limit.configured} instead of ${limit.value}; this is erased for good: ${beyond}`,
    )
  }
  if (announced.length === 0) {
    const [unknown] = await listSmaller(database.db, readConfig(process.env))
    if (unknown)
      throw new Error(`the service has not announced ${unknown.variable}=${unknown.configured} yet: start it with that`)
    return console.log('nothing to accept: the service has announced no smaller limit')
  }
  if (!yes) throw new Error('nothing was changed: --yes puts this in force at once')
  await acceptLimits(database, announced)
  console.log('in force with the next sweep, within the hour')
}

/** Uses the direct connection, because a pooler may not support session-level timeouts or prepared statements. */
async function withDatabase(work: (database: CommandDatabase) => Promise<void>): Promise<void> {
  const database = await openForCommand(readConfig(process.env).databaseServer.directUrl, pino({ level: 'silent' }))
  try {
    const { damage } = await attemptRead(() => work(database))
    if (damage) throw new Error(`a part of the database is damaged (${damage.message}): ${damageAdvice()}`)
  } finally {
    await database.close()
  }
}

/** Lists most of what the next sweep will erase, judged by the clock that was accepted. */
function nextSweepText({ keepVersionsDays, backup }: Pick<Config, 'keepVersionsDays' | 'backup'>, now: number): string {
  const before = (days: number) => `before ${new Date(now - days * dayMs).toISOString()} (${days} days)`
  const lines = [
    `versions, deleted bookmarks and keyrings that were replaced or deleted ${before(keepVersionsDays)}`,
    `devices that were last seen ${before(deviceDays)}`,
    'sessions that have ended, and exports that have expired',
    ...(backup.everyMs === undefined ? [] : [`with the next backup, all backups but the newest ${backup.keep}`]),
  ]
  return ['By this clock, the next sweep, within the hour, erases for good:', ...lines].join('\n  ')
}

/** Corrects the users' counters of what they store, and prints each correction. */
async function recountAll(database: CommandDatabase): Promise<void> {
  let [users, corrected, damaged] = [0, 0, 0]
  await withProgress(async (progress) => {
    for await (const found of recount(database)) {
      users += 1
      progress.report('recounting users', users)
      if (!found) continue
      if ('damage' in found) {
        damaged += 1
        progress.print(`${found.id}  not counted, damaged (${found.damage.code})`)
        continue
      }
      corrected += 1
      progress.print(`${found.userId}  was ${listed(found.was)}  is ${listed(found.is)}`)
    }
  })
  console.log(`recounted ${users - damaged} users, corrected ${corrected}`)
  if (damaged > 0) throw new Error(`${damaged} users were not counted; ${damageAdvice()}`)
}

/** Exits with 1 if anything is damaged. */
async function checkAll(database: CommandDatabase): Promise<void> {
  let [users, damagedUsers] = [0, 0]
  await withProgress(async (progress) => {
    for await (const { userId, email, damaged } of checkUsers(database)) {
      users += 1
      progress.report('reading what users have stored', users)
      if (damaged.length === 0) continue
      damagedUsers += 1
      const where = damaged.map(([table, code]) => `${table} (${code})`).join(', ')
      progress.print(`${userId}  ${JSON.stringify(email) ?? '(unreadable)'}  damaged: ${where}`)
    }
  })
  const lines = database.isServer ? [] : await checkFile(database)
  for (const line of lines) console.log(`the file: ${line}`)
  console.log(`checked ${users} users, ${damagedUsers} with damaged rows`)
  if (damagedUsers > 0 || lines.length > 0) process.exitCode = 1
}

function listed(counters: object): string {
  return Object.entries(counters)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}
