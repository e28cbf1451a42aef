/** `npm run restored`, in the bundle `node restored.mjs`. */
import { command, run } from '../terminal/command.ts'

await run(
  command(
    'restored',
    'Lets devices send again what the database has lost by going back in time.',
    "To be run after a restore, or a failover that lost changes, and before a service starts on the database. A copy that the command backup made does not need it: its first start does the same. The command reads the service's environment variables.",
  ).action(async () => (await import('./restored/restored.ts')).beginNewEpoch()),
)
