/** Makes calls of scripts that only print and exit, one after another, and prints what each of them said as JSON. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Thrown by `process.exit`, so that it ends only the script and not the process. */
class Exit extends Error {}

const print = process.stdout.write.bind(process.stdout)
const calls: string[][] = JSON.parse(process.argv[2] ?? '')
const said: Record<string, { code: number; stdout: string; stderr: string }> = {}
// Each script adds a listener for errors of the stream.
process.stdout.setMaxListeners(0)
for (const [call = '', name = '', entry = '', ...args] of calls) {
  const one = { code: Number.NaN, stdout: '', stderr: '' }
  said[call] = one
  const isRunning = () => Number.isNaN(one.code)
  for (const stream of ['stdout', 'stderr'] as const) {
    process[stream].write = (text) => {
      if (isRunning()) one[stream] += text
      return true
    }
  }
  process.exit = (code) => {
    if (isRunning()) one.code = Number(code)
    throw new Exit()
  }
  process.argv = [process.execPath, resolve(entry), ...args]
  process.env.npm_lifecycle_event = name
  // A script that was already called runs again only under another address.
  await import(`${pathToFileURL(resolve(entry)).href}?${call}`).catch((error: unknown) => {
    if (isRunning() || !(error instanceof Exit)) throw error
  })
}
print(JSON.stringify(said))
process.exitCode = 0
