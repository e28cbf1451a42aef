// Plain JavaScript, because Node needs tens of MiB to strip types. `npm start` runs prestart.ts first.
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const bundle = new URL('../dist/start/', import.meta.url)

if (existsSync(bundle)) {
  // The cache is in the bundle's folder, so a new build removes it, too.
  enableCompileCache(fileURLToPath(new URL('compile-cache/', bundle)))
  await import(new URL('main.mjs', bundle).href)
} else await import('../src/service/main.ts')
