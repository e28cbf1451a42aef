// Plain JavaScript, because Node needs tens of MiB to remove types. `npm start` runs prestart.ts before.
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const bundle = new URL('../dist/start/', import.meta.url)

if (existsSync(bundle)) {
  // The cache is in the bundle's folder, and is removed together with it.
  enableCompileCache(fileURLToPath(new URL('compile-cache/', bundle)))
  await import(new URL('main.mjs', bundle).href)
} else await import('../src/service/main.ts')
