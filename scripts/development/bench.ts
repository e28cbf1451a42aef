/**
 * `npm run bench`: how fast the service is on this machine, beside the limit of what it is made of (`--help` lists the rows).
 * `npm run bench -- page`, `first-sync`: how fast the client is. `pulses`: what pulses of 60 instances cost. `npm run bench -- hostile [ROW…] [--postgres]`: what a
 * second user feels while somebody attacks the service.
 */
import { measureRows, UsageError } from './bench/measure.ts'

const args = process.argv.slice(2)
const [bench, ...rest] = args

try {
  if (bench === 'page') await (await import('./bench/page.ts')).measurePage()
  else if (bench === 'first-sync') await (await import('./bench/second-device.ts')).measureFirstSync()
  else if (bench === 'pulses') await (await import('./bench/pulses.ts')).measurePulses()
  else if (bench === 'hostile') process.exitCode = await (await import('./bench/hostile.ts')).playAttacks(rest)
  else process.exitCode = await measureRows(args)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(error.message)
  process.exitCode = 2
}
