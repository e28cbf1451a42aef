import { isDeepStrictEqual } from 'node:util'
import { nameOf } from '../openapi.ts'
import { byUniqueName, escaped, fieldsIn, isObject, type Json, listOf, type Spot, stepsOf } from './nodes.ts'

/** A schema's keywords with their places. The value of a keyword with several schemas is a map of them, by name. */
export type Keywords = Map<string, Keyword>

interface Keyword {
  value: unknown
  at: string
  place: string[]
  /** JSON pointers of other parts of `allOf` that state the same. */
  also?: string[]
}

export interface Schemas {
  followed(raw: unknown, spot: Spot): { value: unknown; spot: Spot }
  keywordsOf(raw: unknown, where: Spot): { keywords: Keywords; spot: Spot }
}

/** The step of a fact that names a component, if generators make no type of that component. */
export const component = '(component)'

const schemaMaps = ['properties', 'patternProperties', 'dependentSchemas', 'oneOf', 'anyOf']
const deepest = 40

/** Reads the schemas of a document in a normal form, which is usually equal for schemas with the same meaning. */
export function schemasOf(document: Json, renamed: ReadonlyMap<string, string>): Schemas {
  return {
    followed,
    keywordsOf: (raw, where) => {
      const { keywords, spot } = raw instanceof Map ? { keywords: raw, spot: where } : written(raw, where)
      return { keywords: normal(keywords), spot }
    },
  }

  /** A schema's own keywords, and those from `allOf` and from references to components that are not types. */
  function written(raw: unknown, where: Spot): { keywords: Keywords; spot: Spot } {
    const { $ref, allOf, ...own } = fieldsIn(raw)
    const parts = listOf(allOf)
    const isWrapper = parts.length === 1 && Object.keys(own).every((key) => key === 'description')
    const only = $ref ?? (isWrapper ? fieldsIn(parts[0]).$ref : undefined)
    const keywords: Keywords = new Map()
    for (const [key, value] of Object.entries(own)) keywords.set(key, { value: schemasIn(key, value), ...shownAt(key) })
    if (raw === false) keywords.set('not', { value: {}, ...shownAt('not') })
    if (only === undefined) {
      const merged: Keywords = new Map()
      parts.forEach((part, index) => {
        const { title, description, ...of } = fieldsIn(followed(part, where).value)
        const { spot } = followed(part, { ...where, at: `${where.at}/allOf/${index}` })
        merge(merged, written(of, spot).keywords, where)
      })
      merge(merged, keywords, where)
      return { keywords: merged, spot: where }
    }
    const target = followed({ $ref: only }, where)
    const name = shownName(String(only))
    // A reference to a type stays a reference: a recursive schema would never end.
    if (isType(target.value) || where.steps.length > deepest)
      return {
        keywords: new Map([['$ref', { value: name, ...shownAt('$ref') }], ...keywords]),
        spot: where,
      }
    const found = written(target.value, target.spot)
    merge(found.keywords, keywords, where)
    found.keywords.set(component, { value: name, ...shownAt('$ref') })
    return { keywords: found.keywords, spot: { ...found.spot, steps: where.steps, of: where.of } }

    function shownAt(key: string) {
      return { at: `${where.at}/${escaped(key)}`, place: [...where.place, key] }
    }

    function schemasIn(key: string, value: unknown): unknown {
      if (!schemaMaps.includes(key)) return value
      const steps = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(fieldsIn(value))
      const at = (step: string | number) => (value as Record<string | number, unknown>)[step]
      const all = byUniqueName<string | number>(steps, (step) =>
        typeof step === 'number' ? titleOf(at(step), step) : step,
      )
      return new Map(
        [...all].map(([name, step]) => [
          name,
          { value: at(step), at: `${where.at}/${key}/${escaped(String(step))}`, place: [...where.place, name] },
        ]),
      )
    }
  }

  /** The displayed name: a component by its name, its contents by their place in it. */
  function shownName($ref: string): string {
    const [, name = '', rest = ''] = /^#\/components\/[^/]+\/([^/]+)(.*)$/.exec($ref) ?? []
    return name ? `${renamed.get(name) ?? name}${rest}` : $ref
  }

  function followed(raw: unknown, spot: Spot): { value: unknown; spot: Spot } {
    const { $ref, ...words } = fieldsIn(raw)
    if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return { value: raw, spot }
    const steps = stepsOf($ref)
    const target = steps.reduce<unknown>((node, name) => fieldsIn(node)[name], document)
    if (target === undefined) throw new Error(`${$ref} is not in the contract`)
    const { value, spot: found } = followed(target, { ...spot, at: $ref, place: [steps.at(-1) ?? ''] })
    return { value: Object.keys(words).length > 0 ? { ...fieldsIn(value), ...words } : value, spot: found }
  }
}

/** True if generators make a separate type of the schema. */
function isType(schema: unknown): boolean {
  return ['properties', 'enum', 'const', 'oneOf', 'anyOf', 'allOf'].some((key) => key in fieldsIn(schema))
}

function titleOf(alternative: unknown, index: number): string {
  const { $ref, title, type, const: only } = fieldsIn(alternative)
  return $ref ? nameOf($ref) : String(title ?? only ?? type ?? index)
}

/** Keywords that only have a meaning together. */
const units = [
  ['if', 'then', 'else'],
  ['contains', 'minContains', 'maxContains'],
]
/** Keywords that do not restrict values. In `allOf`, the last one wins. */
const isNote = /^(title|description|default|examples?|deprecated|readOnly|writeOnly|externalDocs|\$comment|xml|x-.*)$/
const mergedByName = ['properties', 'patternProperties', 'dependentSchemas']

/** Adds a part of `allOf`. If both restrict a keyword differently, the second restriction stays in a separate part. */
function merge(into: Keywords, from: Keywords, { at, place }: Spot): void {
  const apart: Keywords = new Map()
  const doubled = units.filter(([first = '']) => into.has(first) && from.has(first)).flat()
  for (const [key, field] of from) {
    const known = into.get(key)
    if (doubled.includes(key)) apart.set(key, field)
    else if (!known || isNote.test(key)) into.set(key, field)
    else if (isSame(known, field)) known.also = [...(known.also ?? []), field.at]
    else if (key === 'required') {
      known.value = [...listOf(known.value), ...listOf(field.value)]
      known.also = [...(known.also ?? []), field.at]
    } else if (key === 'allOf') for (const [, part] of field.value as Keywords) addPart(part)
    else if (mergedByName.includes(key)) {
      const [all, others] = [known.value as Keywords, field.value as Keywords]
      const again: Keywords = new Map()
      for (const [name, one] of others) {
        if (!all.has(name)) all.set(name, one)
        else if (!isSame(all.get(name), one)) again.set(name, one)
      }
      if (again.size > 0) apart.set(key, { ...field, value: again })
    } else apart.set(key, field)
  }
  if ([...apart].some(([key, field]) => !isSame(into.get(key), field))) addPart({ value: apart, at, place })

  function addPart(part: Keyword): void {
    const parts = (into.get('allOf')?.value ?? new Map()) as Keywords
    const name = String(parts.size + 2)
    parts.set(name, { ...part, place: [...part.place, `allOf ${name}`] })
    into.set('allOf', { at, place: [...place, 'allOf'], value: parts })
  }
}

function isSame(one: { value: unknown } | undefined, other: { value: unknown }): boolean {
  return isDeepStrictEqual(plain(one?.value), plain(other.value))
}

function plain(value: unknown): unknown {
  if (!(value instanceof Map)) return value
  return [...value].map(([name, one]) => [name, plain(one.value)])
}

/** Replaces equivalent notations by one. */
function normal(keywords: Keywords): Keywords {
  const read = (key: string) => keywords.get(key)?.value
  const constant = keywords.get('const')
  if (constant)
    keywords.set('enum', { ...constant, value: [constant.value] }).set('const', { ...constant, value: true })
  const rest = keywords.get('additionalProperties')
  if (rest && isObject(rest.value) && Object.keys(rest.value).length === 0) rest.value = true
  const types = new Set(listOf(read('type') ?? []))
  if (!keywords.has('type') && keywords.has('enum')) for (const one of listOf(read('enum'))) types.add(typeOfValue(one))
  if (read('nullable') === true) types.add('null')
  const where = keywords.get('type') ?? keywords.get('enum') ?? keywords.get('nullable')
  if (where && types.size > 0) keywords.set('type', { ...where, value: [...types] })
  keywords.delete('nullable')
  const isWhole = types.has('integer') && !types.has('number')
  takeBound('minimum', 'exclusiveMinimum', isWhole ? 1 : undefined)
  takeBound('maximum', 'exclusiveMaximum', isWhole ? -1 : undefined)
  const constants = keywords.get('x-enum-varnames')
  const values = listOf(read('enum'))
  if (constants) constants.value = listOf(constants.value).map((name, index) => `${values[index]}: ${name}`)
  return keywords

  /** Keeps the stricter of both limits, under the inclusive name. For integers, exclusive limits become inclusive. */
  function takeBound(inclusive: string, exclusive: string, step: number | undefined): void {
    const [limit, field] = [keywords.get(inclusive), keywords.get(exclusive)]
    if (!field) return
    keywords.delete(exclusive)
    // In OpenAPI 3.0, the exclusive limit is a boolean.
    const value = typeof field.value === 'number' ? field.value : field.value === true ? limit?.value : undefined
    if (typeof value !== 'number') return
    const isStricter =
      inclusive === 'minimum' ? value >= Number(limit?.value ?? value) : value <= Number(limit?.value ?? value)
    if (isStricter) keywords.set(inclusive, { ...field, value: step ? value + step : `${value}, exclusive` })
  }
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null'
  return Number.isInteger(value) ? 'integer' : typeof value
}
