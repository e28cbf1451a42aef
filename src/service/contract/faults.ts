import type { ErrorObject } from 'ajv'

interface Shape {
  type?: string
  enum?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  pattern?: string
}

/** Names the first faulty part and what it should be, such as `limit must be an integer from 1 to 1000`. */
export function describeFault(errors: ErrorObject[]): string {
  const error = errors[0]
  if (!error) return 'Malformed request'
  if (error.keyword === 'required') return `${nameOf(error, error.params.missingProperty)} is required`
  if (error.keyword === 'pattern' && ['.', '..'].includes(String(error.data)))
    return `${nameOf(error)} must be neither . nor ..`
  return `${nameOf(error) || 'body'} must be ${describe((error.parentSchema ?? {}) as Shape)}`
}

function nameOf({ instancePath }: ErrorObject, last?: string): string {
  const parts = instancePath.split('/').slice(1)
  return (last === undefined ? parts : [...parts, last]).join('.')
}

function describe({
  type,
  minimum,
  maximum,
  minLength = 0,
  maxLength,
  maxItems,
  pattern,
  enum: values,
}: Shape): string {
  if (values) return `one of: ${values.join(', ')}`
  if (type === 'integer') return `an integer from ${minimum} to ${maximum}`
  const [, fewest, most] = /^\^\\d\{(\d+),(\d+)\}\$$/.exec(pattern ?? '') ?? []
  if (fewest !== undefined) return `a string of ${fewest} to ${most} digits`
  if (type === 'string')
    return `a string of ${minLength} to ${maxLength}${pattern?.includes('[ -~]') ? ' printable ASCII' : ''} characters`
  if (type === 'array') return `an array of at most ${maxItems} elements`
  return `of type ${type}`
}
