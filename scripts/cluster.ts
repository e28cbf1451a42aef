/** `npm run cluster`. */
import { command, run } from '../src/service/terminal/command.ts'

await run(
  command(
    'cluster',
    'Runs three instances of the service on one Postgres and one MinIO, behind one port, until Ctrl-C.',
    'PORT sets that port (default 3000), and DEV_IDP_PORT the port of the sign-in provider (default 3001).',
  ).action(async () => (await import('./cluster/run.ts')).runCluster()),
)
