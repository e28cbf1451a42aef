/** `npm run migrate`, in the bundle `node migrate.mjs`. */
import { command, run } from '../terminal/command.ts'

await run(
  command(
    'migrate',
    'Brings the database to the schema of this version, while instances of the previous release run on it.',
    "A start then finds nothing to do. The exit status is 0 only when all is done. The command reads the service's environment variables.",
  ).action(async () => (await import('./migrate/migrate.ts')).migrate()),
)
