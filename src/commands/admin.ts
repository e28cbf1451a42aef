/** `npm run admin -- COMMAND`: what an operator does to the users' data. The service can keep running. */
import { pino } from 'pino'
import { readConfig } from '../config/config.ts'
import { type Beside, openBeside } from '../db/beside.ts'
import { deleteUser, disableUser, enableUser, listUsers } from './admin/accounts.ts'
import { recountAll } from './admin/recount.ts'

/** Each gets the arguments that follow its name. */
const commands: Record<string, (database: Beside, args: string[]) => Promise<void>> = {
  users: listUsers,
  disable: disableUser,
  enable: enableUser,
  delete: deleteUser,
  recount: recountAll,
}

try {
  await run(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function run([name = '', ...args]: string[]): Promise<void> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new Error(`Usage: npm run admin -- COMMAND, one of: ${Object.keys(commands).join(', ')}`)
  const database = await openBeside(readConfig(process.env).databaseUrl, pino({ level: 'silent' }))
  try {
    await command(database, args)
  } finally {
    await database.close()
  }
}
