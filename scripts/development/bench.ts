/**
 * `npm run bench`: how fast the service is on this machine. `npm run bench -- page`: how fast the client is in
 * Chromium. `npm run bench -- hostile [ROW…] [--postgres]`: what a second user feels while somebody attacks the service.
 */
const [bench = 'speed', ...args] = process.argv.slice(2)

if (bench === 'speed') await (await import('./bench/speed.ts')).measureSpeed()
else if (bench === 'page') await (await import('./bench/page.ts')).measurePage()
else if (bench === 'hostile') process.exitCode = await (await import('./bench/hostile.ts')).playAttacks(args)
else {
  console.error('usage: npm run bench [-- page | hostile [ROW…] [--postgres]]')
  process.exitCode = 1
}
