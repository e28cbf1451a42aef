/**
 * Writes `generated/` from openapi.yaml and asyncapi.yaml; with --check, fails if the committed files differ.
 *
 *   generated/openapi.json, asyncapi.json   the contracts in one file each, as served and validated against
 *   generated/openapi.ts, asyncapi.ts       their types, as a handler sees them: defaults are filled in
 *   generated/client.ts                     the types of openapi.yaml as a caller sees them
 *   generated/operations.ts                 the operationIds, with method, path and security
 *   generated/routes.json                   the operations as routes of Fastify
 *   generated/channel.ts                    the realtime channel's close codes and limits
 *   generated/errors.ts                     the errors: name, status and text
 *   generated/login-failures.ts             the messages of a failed sign-in
 *   generated/limits.ts, paths.ts           the limits of the schemas and the operations' paths, for the client's bundle
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { generatedFiles, staleFiles } from './generated.ts'

const root = new URL('../../', import.meta.url)

if (process.argv.includes('--check')) await check()
else await write()

async function write(): Promise<void> {
  await mkdir(new URL('generated', root), { recursive: true })
  for (const [path, content] of Object.entries(await generatedFiles(root)))
    await writeFile(new URL(path, root), content)
}

async function check(): Promise<void> {
  const stale = await staleFiles(root)
  if (stale.length === 0) return
  console.error(`Stale, run \`npm run generate\`: ${stale.join(', ')}`)
  process.exitCode = 1
}
