import t from 'tap'
import { freePort } from '../../scripts/servers/free-port.ts'
import { folder, type Run, run, serving } from '../support/service.ts'
import { until } from '../support/until.ts'

/** What happens to a process: Node warns of something, and nobody catches an error. */
const misfortune = `data:text/javascript,process.on('SIGUSR2',()=>{
  process.emitWarning('old',{code:'DEP0000'});setImmediate(()=>{throw%20new%20Error('lost',{cause:new%20Error('why')})})})`
const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://sync.example.org',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://127.0.0.1:9',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'secret',
}

function lines({ stdout, stderr }: Run) {
  return `${stdout()}${stderr()}`
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { level: number; time: number; msg: string; err?: { cause?: object } })
}

t.test('In production every line is JSON, also of what Node would print as text', async (t) => {
  const dataDir = await folder(t)
  const ports = { PORT: String(await freePort()), DATA_DIR: dataDir }
  const service = run(t, { ...production, ...ports, NODE_OPTIONS: `--import=${misfortune.replace(/\n */g, '')}` })
  await serving(service)
  await fetch(`http://127.0.0.1:${ports.PORT}/api/v1/health`)
  await until(() => /"request"/.test(service.stdout()))
  const ended = await service.kill('SIGUSR2')
  const said = lines(service)
  t.match(ended, { code: 1 })
  t.match(
    said.find(({ msg }) => msg === 'serving'),
    { level: 30, environment: 'production', address: production.PUBLIC_URL },
  )
  t.match(
    said.filter(({ msg }) => ['old', 'lost'].includes(msg)),
    [
      { level: 40, msg: 'old' },
      { level: 60, msg: 'lost', err: { stack: /^Error: lost\n/, cause: { message: 'why' } } },
    ],
  )
  t.same(
    said.filter(({ time }) => !Number.isInteger(time)),
    [],
  )
})

t.test('A refusal to start is such a line, too', async (t) => {
  const refused = run(t, { ...production, SECRET_KEY: '' })
  t.match(await refused.exited, { code: 1 })
  t.match(lines(refused), [{ level: 60, msg: 'SECRET_KEY is required in production' }])
})
