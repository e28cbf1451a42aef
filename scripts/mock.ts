/** `npm run mock`. */
import { command, run } from '../src/service/terminal/command.ts'

await run(
  command(
    'mock',
    'Runs the service for frontend teams, on a temporary database, with scenarios for situations that are hard to reach.',
    "It lists the scenarios when it runs. It reads the service's variables; PORT is 3000 by default, DEV_IDP_PORT 3001.",
  )
    .option('--signed-in <name>', 'answers calls without a session as this person, for stories and tests of an app')
    .action(async ({ signedIn }: { signedIn?: string }) => (await import('./mock/run.ts')).runMock(signedIn)),
)
