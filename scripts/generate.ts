/**
 * `npm run generate` writes `generated/` from openapi.yaml and asyncapi.yaml.
 *
 *   generated/openapi.json, asyncapi.json   the contracts, each in one file, to serve and to validate against
 *   generated/openapi.ts, asyncapi.ts       their types, as a handler sees them: defaults are filled in
 *   generated/client.ts                     the types of openapi.yaml as a caller sees them
 *   generated/operations.ts                 the operations: method, path, security, cost, recent sign-in
 *   generated/routes.json                   the operations as Fastify routes
 *   generated/channel.ts                    the realtime channel's close codes and limits
 *   generated/errors.ts, login-failures.ts  the errors (name, status and text) and the messages of a failed sign-in
 *   generated/limits.ts, keyring-limits.ts  the limits of the schemas; an app loads those of a keyring separately
 *   generated/paths.ts, answers.ts          for small clients: the paths, and a field to recognize each response by
 *   generated/required.ts                   the required properties of each schema
 *   generated/bookmark-form.ts              the fields of a bookmark with their types
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { command, run } from '../src/service/terminal/command.ts'

const root = new URL('../', import.meta.url)

await run(
  command('generate', 'Writes generated/ from openapi.yaml and asyncapi.yaml.')
    .option('--check', 'writes nothing, and fails if the committed files differ')
    .action(async ({ check }: { check?: true }) => (check ? reportStale() : write())),
)

async function write(): Promise<void> {
  const { generatedFiles } = await import('./contract/generated.ts')
  await mkdir(new URL('generated', root), { recursive: true })
  const files = Object.entries(await generatedFiles(root))
  for (const [path, content] of files) await writeFile(new URL(path, root), content)
  console.log(`Written: ${files.length} files of generated/. What the change means: npm run review`)
}

async function reportStale(): Promise<void> {
  const { staleFiles } = await import('./contract/generated.ts')
  const stale = await staleFiles(root)
  if (stale.length === 0) return
  console.error(`Stale, run \`npm run generate\`: ${stale.join(', ')}`)
  process.exitCode = 1
}
