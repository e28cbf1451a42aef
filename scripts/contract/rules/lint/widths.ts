import type { Schema } from '../../openapi.ts'
import { type Context, typesOf } from './visit.ts'

const widths = ['int32', 'int64']
const maxInt32 = 2 ** 31 - 1
/** Unix times exceed 32 bits, and so do sizes of files. */
const isWide = /\b(ms|milliseconds|seconds|bytes)\b/i

/** Generated clients take a whole number for 32 bits, and fail to read a greater one, unless its schema says otherwise. */
export function integerWidth() {
  return {
    Schema(schema: Schema, { report, location }: Context) {
      if (!typesOf(schema).includes('integer')) return
      const { format = '', maximum = 0, description = '' } = schema
      if (!widths.includes(format)) report({ message: 'A whole number must have the format int32 or int64.', location })
      else if (format === 'int32' && (maximum > maxInt32 || isWide.test(description)))
        report({ message: 'This whole number may need int64.', location: location.child(['format']) })
    },
  }
}
