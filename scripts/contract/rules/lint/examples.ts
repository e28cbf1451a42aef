import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import { sampleOf } from './sample.ts'
import type { Context, Location, Schema } from './visit.ts'

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default
const ajv = new Ajv2020({ strict: false })
addFormats(ajv)

/**
 * Documents, mocks and tests put a message together from the examples of its fields: each field has one, and together they
 * are valid. Examples that are written out are Redocly's business.
 */
export function examples() {
  const check = (schema: Schema | undefined, location: Location, context: Context): void => {
    if (!schema || schema.format === 'binary') return
    const { value, whole, missing } = sampleOf(schema, location, context)
    for (const place of missing) context.report({ message: 'There is no example.', location: place })
    if (missing.length > 0 || ajv.validate(whole, value)) return
    context.report({ message: `The examples of the fields do not go together: ${ajv.errorsText()}.`, location })
  }
  const field = (name: string) => (node: Record<string, unknown>, context: Context) =>
    check(node[name] as Schema | undefined, context.location.child([name]), context)
  return {
    MediaType: field('schema'),
    Parameter: field('schema'),
    Header: field('schema'),
    Message: field('payload'),
    WsChannelBinding(node: Record<string, unknown>, context: Context) {
      for (const name of ['query', 'headers']) field(name)(node, context)
    },
  }
}
