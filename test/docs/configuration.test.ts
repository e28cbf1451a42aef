import { readFileSync } from 'node:fs'
import t from 'tap'
import { readConfig } from '../../src/service/config/config.ts'
import { knownVariables } from '../../src/service/config/variables.ts'

const guide = readFileSync(new URL('../../docs/operating/configuration.md', import.meta.url), 'utf8')
const provider = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret' }

t.test('The configuration table has every variable that the service reads, and no other', async (t) => {
  t.same(
    configuration()
      .flatMap(({ names }) => names)
      .toSorted(),
    [...knownVariables()].toSorted(),
  )
})

t.test('The defaults in the configuration table are right', async (t) => {
  const literal = configuration().filter(({ initial }) => /^`[^`]+`$/.test(initial))
  t.ok(literal.length >= 8, `${literal.length} variables`)
  const env = Object.fromEntries(literal.map(({ names: [name], initial }) => [name, fillIn(initial.slice(1, -1))]))
  t.same(readConfig({ ...env, ...provider, DATA_DIR: undefined }), readConfig(provider))
  t.equal(readConfig({}).dataDir, env.DATA_DIR)
})

/** The variables and defaults of the table's rows. */
function configuration(): { names: string[]; initial: string }[] {
  const rows = guide.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const [, names = '', initial = ''] = row
      .split(' | ')
      .map((cell) => cell.trim())
      .toSpliced(0, 0, '')
    return { names: [...names.matchAll(/`([A-Za-z\d_]+)`/g)].map(([, name = '']) => name), initial }
  })
}

function fillIn(initial: string): string {
  return initial.replace('HOST:PORT', '127.0.0.1:3000').replace('DATA_DIR', 'data')
}
