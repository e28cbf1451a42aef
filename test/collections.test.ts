/**
 * With --deep, the published converters of Bruno and Postman import the contract, and all requests that they make are
 * valid. Insomnia's published importer, of 2023, cannot read OpenAPI 3.1; Hoppscotch publishes no importer.
 */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseYaml } from '@redocly/openapi-core'
import t from 'tap'
import { operations } from '../generated/operations.ts'
import { buildApp } from './support/app.ts'
import { isDeep } from './support/depth.ts'

interface Imported {
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
}

interface Named {
  name: string
  key: string
  value: string
  enabled?: boolean
  disabled?: boolean
  type?: string
}

const contract = await readFile(new URL('../openapi.yaml', import.meta.url), 'utf8')

const importers: Record<string, { packages: string; importWith: (load: NodeJS.Require) => Promise<Imported[]> }> = {
  Bruno: {
    packages: '@usebruno/converters@0.23.0',
    importWith: async (load) => {
      const { items } = await load('@usebruno/converters').openApiToBruno(parseYaml(contract))
      return leavesOf(items, 'items').map(({ request: { method, url, params, headers, body } }) => {
        const sent = (params as Named[]).filter(({ enabled }) => enabled)
        const query = new URLSearchParams(
          sent.filter(({ type }) => type === 'query').map(({ name, value }) => [name, value]),
        )
        const path = url
          .replace('{{baseUrl}}', '')
          .replace(/:(\w+)/g, (_: string, name: string) => valueNamed(sent, name))
        const all = (headers as Named[]).filter(({ enabled }) => enabled).map(({ name, value }) => [name, value])
        const json = body.mode === 'json' ? { 'content-type': 'application/json' } : {}
        return {
          method,
          path: `${path}?${query}`,
          headers: { ...json, ...Object.fromEntries(all) },
          body: body.json ?? undefined,
        }
      })
    },
  },
  Postman: {
    packages: 'openapi-to-postmanv2@6.3.3',
    importWith: async (load) => {
      // In the Postman app, a person chooses this option in the import dialog.
      const options = { requestParametersResolution: 'Example' }
      const convert = promisify(load('openapi-to-postmanv2').convert)
      const { output } = await convert({ type: 'string', data: contract }, options)
      return leavesOf(output[0].data.item, 'item').map(({ request: { method, url, header, body } }) => {
        const query = new URLSearchParams(
          (url.query as Named[]).filter(({ disabled }) => !disabled).map(({ key, value }) => [key, value]),
        )
        const steps = (url.path as string[]).map((step) =>
          step.startsWith(':') ? valueNamed(url.variable, step.slice(1)) : step,
        )
        const all = (header as Named[]).filter(({ disabled }) => !disabled).map(({ key, value }) => [key, value])
        return { method, path: `/${steps.join('/')}?${query}`, headers: Object.fromEntries(all), body: body?.raw }
      })
    },
  },
}

// biome-ignore lint/suspicious/noExplicitAny: the converters have no types
function leavesOf(items: any[], key: string): any[] {
  return items.flatMap((item) => (item[key] ? leavesOf(item[key], key) : item.request ? [item] : []))
}

function valueNamed(all: Named[], name: string): string {
  return encodeURIComponent(all.find((one) => (one.name ?? one.key) === name)?.value ?? '')
}

for (const [name, { packages, importWith }] of Object.entries(importers))
  t.test(`${name} imports valid requests`, { skip: !isDeep && 'only with --deep' }, async (t) => {
    const folder = t.testdir()
    await writeFile(join(folder, 'package.json'), '{}')
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', packages], {
      cwd: folder,
    })
    const requests = await importWith(createRequire(join(folder, 'package.json')))
    t.equal(requests.length, Object.keys(operations).length)
    const { app, user } = await buildApp(t)
    for (const [index, { method, path, headers, body }] of requests.entries()) {
      // Each request has a user of its own, because some requests end the session.
      const { session, refresh } = await user(`${name}-${index}`)
      const answer = await app.inject({
        method: method as 'GET',
        url: path,
        headers: { authorization: `Bearer ${session}`, cookie: `service_refresh=${refresh}`, ...headers },
        ...(body !== undefined && { payload: body }),
      })
      const isRefused =
        [400, 401, 405, 413, 415].includes(answer.statusCode) || answer.headers['x-error-code'] === 'NotFound'
      t.notOk(isRefused, `${method} ${path}`, { answer: answer.body, body })
    }
  })
