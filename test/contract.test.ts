import { readFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import t from 'tap'
import asyncapi from '../generated/asyncapi.json' with { type: 'json' }
import openapi from '../generated/openapi.json' with { type: 'json' }
import packageJson from '../package.json' with { type: 'json' }

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default

t.test(
  'Each schema reads alike under draft-07 (Fastify) and 2020-12 (OpenAPI 3.1), and so do its examples',
  async (t) => {
    const validators = [new Ajv({ strict: false }), new Ajv2020({ strict: false })]
    for (const ajv of validators) addFormats(ajv)
    for (const [document, name] of [
      [openapi, 'openapi.json'],
      [asyncapi, 'asyncapi.json'],
    ] as const) {
      for (const ajv of validators) ajv.addSchema(document, name)
      for (const [schema, definition] of Object.entries(document.components.schemas)) {
        const [draft7, draft2020] = validators.map((ajv) =>
          ajv.compile({ $ref: `${name}#/components/schemas/${schema}` }),
        )
        const samples = [
          ...(('examples' in definition && definition.examples) || []),
          null,
          {},
          [],
          '',
          'x',
          0,
          -1,
          1.5,
          true,
          'é',
          '\u0000',
        ]
        const differing = samples.filter(
          (sample) => draft7?.(structuredClone(sample)) !== draft2020?.(structuredClone(sample)),
        )
        t.same(differing, [], `${name} ${schema}`)
      }
    }
  },
)

t.test('One version: both contracts, the package, the health report', async (t) => {
  t.equal(openapi.info.version, packageJson.version)
  t.equal(asyncapi.info.version, packageJson.version)
})

t.test('Every error text of the interface stands in the contract', async (t) => {
  const texts = [
    'Authentication required',
    'Invalid or expired session',
    'No refresh token',
    'Failed to refresh token',
    'Failed to initiate login',
    'Failed to logout',
    'Failed to get sync status',
    'Invalid request body',
    'Invalid changes format',
    'Export not ready for download',
    'Bookmark not found',
    'Export not found',
    'WebSocket upgrade required',
  ]
  const contract = await readFile(new URL('../openapi.yaml', import.meta.url), 'utf8')
  for (const text of texts) t.ok(contract.includes(text), text)
})
