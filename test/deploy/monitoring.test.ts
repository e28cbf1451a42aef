import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseYaml } from '@redocly/openapi-core'
import t from 'tap'
import { openAdmin } from '../support/admin.ts'
import { buildApp } from '../support/app.ts'
import type { Exposition } from '../support/exposition.ts'
import { pick } from '../support/pick.ts'

interface Rule {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: Record<string, string>
}

interface Panel {
  title: string
  targets?: { expr: string }[]
}

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const alerts = parseYaml(read('deploy/prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }
const rules = alerts.groups.flatMap((group) => group.rules)
const { panels } = JSON.parse(read('deploy/grafana/dashboard.json')) as { panels: Panel[] }
const expressions = [
  ...rules.map(({ alert, expr }) => ({ name: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ name: title, expr }))),
]

/** The metrics of an expression, each with the labels that it selects by. */
function selectors(expr: string) {
  return [...expr.matchAll(/\b((?:ebs|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inner = '']) => ({
      name,
      labels: [...inner.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
        label,
        operator,
        value,
      })),
    }),
  )
}

const addedByPrometheus = ['job', 'instance']

function faultOf({ families }: Exposition, { name, labels }: ReturnType<typeof selectors>[number]): string | undefined {
  const own = labels.filter(({ label }) => !addedByPrometheus.includes(label))
  if (name === 'up') return own.length > 0 ? 'up has no labels of its own' : undefined
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
  if (!family) return `there is no metric ${name}`
  const known = (label: string) => family.samples.map((sample) => sample.labels[label])
  const wrong = own.find(({ label, operator, value }) =>
    operator === '=' ? !known(label).includes(value) : family.samples.length > 0 && known(label).includes(undefined),
  )
  return wrong && `${name} has no ${wrong.label} ${wrong.operator} ${wrong.value}`
}

t.test('Alerts and dashboard name only metrics and labels that a scrape shows', async (t) => {
  const app = await buildApp(t, { BACKUP_EVERY: '1d' })
  const { call } = await app.user('ada')
  await call('GET', '/api/v1/bookmarks')
  const exposed = await openAdmin(t, app).scrape()
  const faults = expressions.flatMap(({ name, expr }) =>
    selectors(expr).map((selector) => ({ name, fault: faultOf(exposed, selector) })),
  )
  t.ok(faults.length > 60, `${faults.length} metrics`)
  t.same(
    faults.filter(({ fault }) => fault !== undefined),
    [],
  )
  const shown = panels.flatMap(({ targets = [] }) => targets)
  const used = new Set(shown.flatMap(({ expr }) => selectors(expr).map(({ name }) => name)))
  const unused = [...exposed.families.keys()].filter(
    (name) => name.startsWith('ebs_') && ![...used].some((other) => other.replace(/_(bucket|sum|count)$/, '') === name),
  )
  t.same(unused, [], 'the dashboard shows every metric of the service')

  const named = new Set(read('docs/operating/monitoring.md').match(/\bebs_[a-z_]+/g))
  const own = [...exposed.families.keys()].filter((name) => name.startsWith('ebs_'))
  t.same([...named].sort(), own.sort(), 'the guide lists the same metrics')
})

t.test('Every alert has a delay, a severity and a description, and is in docs/operating/monitoring.md', async (t) => {
  const guide = read('docs/operating/monitoring.md')
  const wrong = rules.filter(
    ({ alert, for: waits, labels, annotations }) =>
      !/^\d+[mh]$/.test(waits) ||
      !['critical', 'warning'].includes(labels.severity) ||
      !annotations.summary ||
      !annotations.description ||
      !guide.includes(`\`${alert}\``),
  )
  t.same(pick(wrong, 'alert'), [])
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  t.ok(rules.some(({ expr }) => expr.startsWith('up{')))
})

t.test('An alert also fires for what a process counted before its first scrape', async (t) => {
  const inSeconds = { m: 60, h: 3600 }
  const counting = rules.filter(({ expr }) => expr.includes('increase('))
  t.ok(counting.length >= 6)
  for (const { alert, expr } of counting) {
    const [, counted, number, unit, least] = /^increase\((.*)\[(\d+)([mh])\]\) > (\d)/.exec(expr) ?? []
    const seconds = Number(number) * inSeconds[unit as keyof typeof inSeconds]
    const isYoung = `and on (instance) time() - process_start_time_seconds{job="bookmarks"} < ${seconds}`
    t.equal(expr, `increase(${counted}[${number}${unit}]) > ${least} or ${counted} > ${least} ${isYoung}`, alert)
  }
})

t.test("promtool accepts the rules and the configuration, and the alerts' own tests pass", async (t) => {
  if (spawnSync('promtool', ['--version']).error) return t.comment('SKIPPED: no promtool here (Debian: prometheus)')
  const runs = [
    ['check', 'config', 'deploy/prometheus/prometheus.yaml'],
    ['test', 'rules', 'test/deploy/alerts.promtool.yaml', 'test/deploy/alerts-of-days.promtool.yaml'],
  ].map((args) => spawnSync('promtool', args, { cwd: fileURLToPath(root), encoding: 'utf8' }))
  t.same(
    runs.map(({ status, stdout, stderr }) => (status === 0 ? 'passed' : `${stdout}${stderr}`)),
    ['passed', 'passed'],
  )
})
