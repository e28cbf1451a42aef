/** The rules of .dependency-cruiser.js, by which `npm run check` decides which file may import which. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const root = new URL('../', import.meta.url)
const program = fileURLToPath(new URL('node_modules/dependency-cruiser/bin/dependency-cruiser.mjs', root))
const config = fileURLToPath(new URL('.dependency-cruiser.js', root))

const packages = {
  'package.json': '{ "type": "module", "devDependencies": { "tool": "1.0.0" } }',
  node_modules: { tool: { 'package.json': '{ "type": "module", "exports": "./index.js" }', 'index.js': '' } },
}

t.test('Imports of higher layers, circles and development packages are violations, also of types', (t) => {
  const files = {
    ...packages,
    generated: { 'openapi.ts': "import '../src/client/index.ts'" },
    src: {
      client: { 'index.ts': "import '../web/ui/button.ts'" },
      elsewhere: { 'anything.ts': '' },
      web: {
        ui: { 'button.ts': "import type { Shell } from '../app/shell.ts'\nexport type Button = Shell" },
        app: { 'shell.ts': "import '../elsewhere/anything.ts'\nexport type Shell = string" },
        elsewhere: { 'anything.ts': '' },
      },
      service: {
        db: { 'schema.ts': "import type { Push } from '../sync/push.ts'\nexport type Rows = Push" },
        elsewhere: { 'anything.ts': '' },
        sync: {
          'push.ts': "import type { Turns } from './turns.ts'\nexport type Push = Turns",
          'turns.ts': "import type { Push } from './push.ts'\nexport type Turns = Push",
          'tool.ts': "import 'tool'\nimport '../../../scripts/script.ts'",
        },
        http: {
          'bind.ts':
            "import type { Context } from '../context.ts'\nimport '../../client/index.ts'\nexport type Parts = Context",
        },
        'context.ts':
          "import './elsewhere/anything.ts'\nimport '../elsewhere/anything.ts'\nimport './nothing.ts'\nexport type Context = string",
      },
    },
    scripts: { 'script.ts': '' },
  }
  t.same(check(t, files), {
    status: 16,
    violations: [
      'every import can be resolved: src/service/context.ts → ./nothing.ts',
      'everything in src has its place in the order: src/service/context.ts → src/elsewhere/anything.ts',
      'everything in src has its place in the order: src/service/context.ts → src/service/elsewhere/anything.ts',
      'everything in src has its place in the order: src/web/app/shell.ts → src/web/elsewhere/anything.ts',
      'generated imports nothing: generated/openapi.ts → src/client/index.ts',
      'no circles: src/service/sync/push.ts → src/service/sync/turns.ts → src/service/sync/push.ts',
      'src/client imports only what is below it: src/client/index.ts → src/web/ui/button.ts',
      'src/service imports only what is below it: src/service/context.ts → src/elsewhere/anything.ts',
      'src/service imports only what is below it: src/service/http/bind.ts → src/client/index.ts',
      'src/service imports only what is below it: src/service/sync/tool.ts → scripts/script.ts',
      'src/service/context.ts imports only what is below it: src/service/context.ts → src/service/elsewhere/anything.ts',
      'src/service/db/schema.ts imports only what is below it: src/service/db/schema.ts → src/service/sync/push.ts',
      'src/service/http imports only what is below it: src/service/http/bind.ts → src/service/context.ts',
      'src/web/app imports only what is below it: src/web/app/shell.ts → src/web/elsewhere/anything.ts',
      'src/web/ui imports only what is below it: src/web/ui/button.ts → src/web/app/shell.ts',
      'the service runs without development dependencies: src/service/sync/tool.ts → node_modules/tool/index.js',
    ],
  })
  t.end()
})

/** How the command ends for these files, and its complaints. */
function check(t: Test, files: NonNullable<Parameters<Test['testdir']>[0]>) {
  const args = [program, '--config', config, 'src', 'generated']
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: t.testdir(files), encoding: 'utf8' })
  const lines = stdout.replaceAll(/→\s+/g, '→ ').split('\n')
  return { status, violations: lines.flatMap((line) => /^ {2}error (.*)/.exec(line)?.[1] ?? []).sort() }
}
