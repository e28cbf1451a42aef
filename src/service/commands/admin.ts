/** `npm run admin -- COMMAND`, in the bundle `node admin.mjs COMMAND`. */
import type { Beside } from '../db/beside.ts'
import { command, run, UsageError } from '../terminal/command.ts'

const userId = ['<user-id>', 'as `users` lists it'] as const
const accounts = () => import('./admin/accounts.ts')

const admin = command(
  'admin',
  "What an operator does to the users' data. The service can keep running.",
  "The commands read the service's environment variables.",
)
  .usage('<command>')
  .argument('[command]')
  .action((name?: string) => {
    const names = admin.commands.map((each) => each.name()).join(', ')
    throw new UsageError(`${name === undefined ? 'no command' : `there is no command ${name}`}: one of ${names}`)
  })
admin
  .command('users')
  .description("lists each user's id, e-mail address, bytes, records and when they were last seen")
  .action(() => withDatabase(async (database) => (await accounts()).listUsers(database)))
admin
  .command('disable')
  .description('signs a user out everywhere, and lets nobody sign in as this user until `enable`')
  .argument(...userId)
  .action((id: string) => withDatabase(async (database) => (await accounts()).disableUser(database, id)))
admin
  .command('enable')
  .description('lets the user sign in again')
  .argument(...userId)
  .action((id: string) => withDatabase(async (database) => (await accounts()).enableUser(database, id)))
admin
  .command('delete')
  .description('deletes the account, as its user can; the service erases what is stored')
  .argument(...userId)
  .action((id: string) => withDatabase(async (database) => (await accounts()).deleteUser(database, id)))
admin
  .command('recount')
  .description('counts anew what each user stores, and mends their counters')
  .action(() => withDatabase(async (database) => (await import('./admin/recount.ts')).recountAll(database)))
await run(admin)

async function withDatabase(work: (database: Beside) => Promise<void>): Promise<void> {
  const { openFromEnvironment } = await import('./admin/database.ts')
  const database = await openFromEnvironment()
  try {
    await work(database)
  } finally {
    await database.close()
  }
}
