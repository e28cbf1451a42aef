// Plain JavaScript: to remove types, Node would load what takes tens of MiB. `npm start` runs prestart.ts before.
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const bundle = new URL('../dist/start/', import.meta.url)

if (existsSync(bundle)) {
  // It is removed with the bundle whose files it knows.
  enableCompileCache(fileURLToPath(new URL('compile-cache/', bundle)))
  await import(new URL('main.mjs', bundle).href)
} else await import('../src/service/main.ts')
