/** `npm run build`. */
import { Argument } from 'commander'
import { command, run } from '../src/service/terminal/command.ts'
import { withProgress } from '../src/service/terminal/progress.ts'
import type { Part } from './package/parts.ts'
import { forgetBuilt } from './package/unless-built.ts'

const made: Record<Part, string> = {
  client: 'the client package; src/client/README.md tells how to install it',
  web: 'the web page',
  docs: 'the documentation, for /docs of the service; a static host that has it elsewhere needs --base',
  extension: 'the browser extension for Chrome and Firefox; examples/extension/README.md tells how to load it',
  service: 'the service, with web and docs as they are; docs/operating/deployment.md tells how to run it',
}
const docsBase = '/docs/'
const names = Object.keys(made) as Part[]

await run(
  command('build', 'Writes dist/ from generated/ and src/.')
    .addArgument(new Argument('[part...]', 'builds these parts only').choices(names))
    .option('--base <path>', 'where the documents will be on their host', docsBase)
    .action(async (named: Part[], { base }: { base: string }) => {
      const chosen = named.length === 0 ? names : names.filter((name) => named.includes(name))
      const { buildParts } = await import('./package/parts.ts')
      if (base !== docsBase) await forgetBuilt()
      await withProgress(({ report }) => buildParts(chosen, report, base))
      for (const name of chosen) console.log(`dist/${name.padEnd(10)}${made[name]}`)
    }),
)
