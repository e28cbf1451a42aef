/**
 * `npm run build`: writes dist/ from generated/ and src/. Arguments name the parts to build instead of all:
 *
 *   client   dist/client, the package that frontend teams install
 *   web      dist/web, the demo app
 *   docs     dist/docs, the documents, for `/docs` and any static host
 */

import { buildDocs } from '../contract/documents.ts'
import { buildClient } from './client.ts'
import { buildWeb } from './web.ts'

const parts = { client: buildClient, web: buildWeb, docs: buildDocs }

const named = process.argv.slice(2)
const unknown = named.find((name) => !(name in parts))
if (unknown) throw new Error(`${unknown} is none of: ${Object.keys(parts).join(', ')}`)
for (const [name, build] of Object.entries(parts)) if (named.length === 0 || named.includes(name)) await build()
