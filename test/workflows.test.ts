import t from 'tap'
import { redocly } from '../scripts/contract/redocly.ts'
import { buildApp } from './support/app.ts'

t.test('The documented workflows run against the service', async (t) => {
  const app = await buildApp(t)
  const service = `service=${await app.listen()}`
  const { session } = await app.user('ada')
  const inputs = ['-S', service, '-i', `session=${session}`, '--severity', 'SCHEMA_CHECK=warn']
  const root = new URL('../', import.meta.url)
  const run = redocly(root, 'respect', 'workflows.arazzo.yaml', ...inputs)
  const { stdout, stderr } = await run.catch((error) => error)
  const said = `${stdout}${stderr}`

  t.match(said, 'Workflows: 3 passed, 3 total')
  t.notMatch(said, /\bfailed\b/)
  // The one warning is about the download: Respect checks a binary body as an empty object.
  t.match(said, /Checks: [1-9]\d* passed, 1 warnings,/)
  t.match(said, /stepId - download\s+⚠ schema check\s+TYPE must be string\s+> 1 \| \{\}/)
})
