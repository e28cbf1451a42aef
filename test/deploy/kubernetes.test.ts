import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { pick } from '../support/pick.ts'
import { folder } from '../support/service.ts'
import { configure, deploy, read, readLines, readYaml, stopSeconds } from './files.ts'

interface Probe {
  httpGet: { path: string; port: string }
}

interface Container {
  ports: { name: string; containerPort: number }[]
  env: { name: string; value: string }[]
  volumeMounts: { name: string; mountPath: string }[]
  startupProbe: Probe
  livenessProbe: Probe
  readinessProbe: Probe
  securityContext: object
}

interface Deployment {
  spec: {
    replicas: number
    strategy: object
    selector: { matchLabels: object }
    template: {
      metadata: { labels: object; annotations: Record<string, string> }
      spec: {
        terminationGracePeriodSeconds: number
        securityContext: object
        containers: [Container]
        volumes: { name: string }[]
      }
    }
  }
}

const folderOf = 'deploy/kubernetes'
const { spec } = readYaml<Deployment>(`${folderOf}/deployment.yaml`)
const pod = spec.template
const [container] = pod.spec.containers
const settings = readLines(read(`${folderOf}/config.env`))

t.test('The pods start with the settings and secrets of the manifests, and have time to stop', async (t) => {
  const at = await folder(t)
  const contents: Record<string, string> = { database_url: 'postgres://bookmarks:secret@db/bookmarks' }
  const env: Record<string, string> = { NODE_ENV: 'production', ...settings }
  for (const { name, value } of container.env) {
    const key = value.split('/').at(-1) ?? ''
    await writeFile(join(at, key), contents[key] ?? Buffer.alloc(32, 7).toString('base64'))
    env[name] = join(at, key)
  }
  const { config, unknown } = configure(env)
  t.same(unknown, [])
  t.ok(config.databaseUrl.startsWith('postgres:') && config.s3, 'the replicas share a database and a store')
  t.ok(pod.spec.terminationGracePeriodSeconds >= config.drainSeconds + stopSeconds)
  const port = (name: string) => container.ports.find((it) => it.name === name)?.containerPort
  t.same([port('http'), port('admin')], [3000, config.adminPort])
  t.equal(pod.metadata.annotations['prometheus.io/port'], String(config.adminPort))
})

t.test('All selectors match the pods; liveness probes ask /livez, the readiness probe /readyz', async (t) => {
  const { labels } = pod.metadata
  const selectors = [
    spec.selector.matchLabels,
    readYaml<{ spec: { selector: object } }>(`${folderOf}/service.yaml`).spec.selector,
    readYaml<Deployment>(`${folderOf}/disruption-budget.yaml`).spec.selector.matchLabels,
    readYaml<{ spec: { podSelector: { matchLabels: object } } }>(`${folderOf}/network-policy.yaml`).spec.podSelector
      .matchLabels,
  ]
  t.same(
    selectors,
    selectors.map(() => labels),
  )
  t.same(spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } })
  t.match(readYaml(`${folderOf}/disruption-budget.yaml`), { spec: { maxUnavailable: 1 } })
  t.ok(spec.replicas > 1)

  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
  t.same(pick(probes, 'httpGet'), [
    { path: '/livez', port: 'admin' },
    { path: '/livez', port: 'admin' },
    { path: '/readyz', port: 'admin' },
  ])
})

t.test('The pods have no privileges that they do not need', async (t) => {
  t.match(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  t.match(pod.spec.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  const mounted = container.volumeMounts.map(({ name }) => name)
  t.same(pick(pod.spec.volumes, 'name'), mounted)
  t.same(pick(container.volumeMounts, 'mountPath'), ['/run/secrets/bookmarks', '/data', '/tmp'])
})

t.test('kustomization.yaml lists every manifest, and kubectl can build it', async (t) => {
  const { resources } = readYaml<{ resources: string[] }>(`${folderOf}/kustomization.yaml`)
  const manifests = readdirSync(join(deploy, 'kubernetes')).filter((name) => /(?<!kustomization)\.yaml$/.test(name))
  t.same(resources.toSorted(), manifests.toSorted())
  const built = spawnSync('kubectl', ['kustomize', join(deploy, 'kubernetes')], { encoding: 'utf8' })
  if (built.error) return t.comment('SKIPPED: no kubectl here')
  t.same([built.status, built.stderr], [0, ''])
  t.equal(built.stdout.split('\n---\n').length, resources.length + 1, 'each manifest, and the settings')
})

t.test("The manifests match Kubernetes' schemas", async (t) => {
  const { resources } = readYaml<{ resources: string[] }>(`${folderOf}/kustomization.yaml`)
  const checked = spawnSync('kubernetes-validate', ['--strict', ...resources], {
    cwd: join(deploy, 'kubernetes'),
    encoding: 'utf8',
  })
  if (checked.error) return t.comment('SKIPPED: no kubernetes-validate here (PyPI)')
  t.equal(checked.status, 0, checked.stdout + checked.stderr)
})
