/**
 * Runs the named test files in this process, one after another, so that the service is loaded only once. Each file is a
 * subtest, which the file gets as its import of `tap`.
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

// Property tests use a fixed seed, so that a commit passes everywhere or nowhere. With --deep, the seed is random.
if (process.env.TEST_DEPTH !== 'deep') fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) })

// Must be loaded after the hooks.
const { default: root } = await import('tap')
// Printed at the end, too: the CPU time of a child, such as the browser that the files share, counts when it has ended.
process.on('exit', () => console.log(`# cpu=${cpuSeconds()}`))
for (const path of process.argv.slice(2)) {
  // The time limit starts again for each file, here and in the runner, which kills a process that does not end.
  root.setTimeout(Number(process.env.TEST_LIMIT_MS))
  // Awaits nothing else in this loop: while no test is running, tap would end.
  await root.test(relative('.', path), async (t) => {
    const { href } = pathToFileURL(resolve(path))
    files.set(href, t)
    t.testdirName = resolve('.tap/fixtures', `${process.pid}-${path.replace(/\W+/g, '-')}`)
    await import(href)
  })
  root.comment(`cpu=${cpuSeconds()}`)
}

/** The CPU time of this process and, on Linux, its ended children. */
function cpuSeconds(): number {
  // The program's name, in parentheses, may contain spaces.
  const stat = process.platform === 'linux' ? readFileSync('/proc/self/stat', 'utf8') : ''
  const fields = stat.replace(/^.*\) /s, '').split(' ')
  const ticksPerSecond = 100
  const { user, system } = process.cpuUsage()
  if (fields.length < 15) return (user + system) / 1e6
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
}
