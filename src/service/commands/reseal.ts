/** `npm run reseal`, in the bundle `node reseal.mjs`. */
import { command, run } from '../terminal/command.ts'

await run(
  command(
    'reseal',
    'Encrypts all sealed values with the first key of SECRET_KEY, so that the others can be dropped.',
    "The service can keep running, in any number of instances: set SECRET_KEY=NEW,OLD, run this, then set SECRET_KEY=NEW. The exit status is 0 only when the first key opens all values. The command reads the service's environment variables.",
  ).action(async () => (await import('./reseal/run.ts')).resealAll()),
)
