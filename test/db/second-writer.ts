import { setImmediate as turn } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'

// Another process that writes to the database at argv[2], one short transaction after another, until SIGTERM.
// It uses SQLite's longest timeout: on a busy machine, the tested process may hold the lock for long.
const sqlite = new Sqlite(process.argv[2] as string, { timeout: 0x7fffffff })
let stopped = false
process.on('SIGTERM', () => {
  stopped = true
})
const write = sqlite.transaction((id: number) => {
  sqlite
    .prepare(
      `insert into users (id, issuer, subject, email, name, avatar_url, email_verified, export_key_sealed, created_at)
        values (?, 'second', ?, '', '', '', 0, '', 0)`,
    )
    .run(`second-${id}`, String(id))
})
for (let id = 0; !stopped; id += 1) {
  write.immediate(id)
  if (id === 0) console.log('writing')
  await turn()
}
sqlite.close()
