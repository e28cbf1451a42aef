/**
 * Runs the named test files one after another in this process, so that the service is loaded only once. Each file is a
 * subtest, and its import of `tap` gets that subtest.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import type { Test } from 'tap'

const files = new Map<string, Test>()
Object.assign(globalThis, { testOfFile: (url: string) => files.get(url) })

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'async-hook-domain') return next(new URL('domain.ts', import.meta.url).href, context)
    if (specifier === 'hash-wasm' && /\/src\/client\/crypto\/argon2id\.[jt]s$/.test(context.parentURL ?? '')) {
      return next(new URL('argon2id.ts', import.meta.url).href, context)
    }
    if (specifier !== 'tap' || !files.has(context.parentURL ?? '')) return next(specifier, context)
    return { url: `test-of-file:${context.parentURL}`, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    const [, file] = /^test-of-file:(.*)$/.exec(url) ?? []
    if (file === undefined) return next(url, context)
    const source = `export default globalThis.testOfFile(${JSON.stringify(file)})`
    return { source, format: 'module', shortCircuit: true }
  },
})

// The quick properties are always the same, so that a commit passes everywhere or nowhere; the deep ones are always others.
if (process.env.TEST_DEPTH !== 'deep') fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) })

// Not before the hooks are there.
const { default: root } = await import('tap')
// Also at the end: a browser, which all files share, counts once it is closed.
process.on('exit', () => console.log(`# cpu=${cpuSeconds()}`))
for (const path of process.argv.slice(2)) {
  // From now, here and in the runner, which kills a process that does not even end by itself.
  root.setTimeout(Number(process.env.TEST_LIMIT_MS))
  // Nothing else is waited for: without a test under way, tap ends.
  await root.test(relative('.', path), async (t) => {
    const { href } = pathToFileURL(resolve(path))
    files.set(href, t)
    t.testdirName = resolve('.tap/fixtures', `${process.pid}-${path.replace(/\W+/g, '-')}`)
    await import(href)
  })
  root.comment(`cpu=${cpuSeconds()}`)
}

/** Counts this process and those that it has started and that have ended. */
function cpuSeconds(): number {
  // The name of the program, in parentheses, may hold anything.
  const stat = process.platform === 'linux' ? readFileSync('/proc/self/stat', 'utf8') : ''
  const fields = stat.replace(/^.*\) /s, '').split(' ')
  const ticksPerSecond = 100
  const { user, system } = process.cpuUsage()
  if (fields.length < 15) return (user + system) / 1e6
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
}
