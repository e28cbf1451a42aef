/**
 * Runs the named test files in this process, one after another, so that the service is loaded once. Each file is a
 * subtest, which its import of `tap` returns.
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

// Quick properties use a fixed seed, so that a commit passes everywhere or nowhere; deep ones use a random one.
if (process.env.TEST_DEPTH !== 'deep') fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) })

// Must be loaded after the hooks.
const { default: root } = await import('tap')
// Printed again at the end: the shared browser counts once it is closed.
process.on('exit', () => console.log(`# cpu=${cpuSeconds()}`))
for (const path of process.argv.slice(2)) {
  // The time limit starts now, here and in the runner, which kills a process that does not end.
  root.setTimeout(Number(process.env.TEST_LIMIT_MS))
  // The only promise to wait for: without a running test, tap would end.
  await root.test(relative('.', path), async (t) => {
    const { href } = pathToFileURL(resolve(path))
    files.set(href, t)
    t.testdirName = resolve('.tap/fixtures', `${process.pid}-${path.replace(/\W+/g, '-')}`)
    await import(href)
  })
  root.comment(`cpu=${cpuSeconds()}`)
}

/** The CPU time of this process and its ended children. */
function cpuSeconds(): number {
  // The program's name in parentheses may contain anything.
  const stat = process.platform === 'linux' ? readFileSync('/proc/self/stat', 'utf8') : ''
  const fields = stat.replace(/^.*\) /s, '').split(' ')
  const ticksPerSecond = 100
  const { user, system } = process.cpuUsage()
  if (fields.length < 15) return (user + system) / 1e6
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
}
