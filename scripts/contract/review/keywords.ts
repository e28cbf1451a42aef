import { type Change, type Direction, missing } from './changes.ts'
import { type Fact, type Facts, keyOf } from './facts.ts'
import { highest, type Impact, type Ruling } from './impact.ts'
import { listOf } from './nodes.ts'
import { type Width, widthOfPattern } from './patterns.ts'
import { describeChange, key, ownerOf, sentence, written } from './sentences.ts'

export function by(width: Width, directions: Set<Direction>): Impact {
  if (directions.size === 0 || width === 'other') return 'major'
  return directions.has(width === 'narrower' ? 'request' : 'response') ? 'major' : 'minor'
}

const upperLimits = ['maximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains']

const lowerLimits = ['minimum', 'minLength', 'minItems', 'minProperties', 'minContains']

/** Compares what a keyword allows with what it allowed before. */
function widthOf(name: string, { was, is }: Change): Width | undefined {
  const [old, now] = [was?.value, is?.value]
  if (upperLimits.includes(name)) return isBelow(now ?? Infinity, old ?? Infinity) ? 'narrower' : 'wider'
  if (lowerLimits.includes(name)) return isBelow(negative(now), negative(old)) ? 'narrower' : 'wider'
  if (name === 'multipleOf' && was && is) {
    if (isMultiple(old, now)) return 'wider'
    return isMultiple(now, old) ? 'narrower' : 'other'
  }
  if (name === 'pattern') return widthOfPattern(old, now)
  if (['enum', 'type'].includes(name) && was && is) {
    const [lost, gained] = [remaining(old, now), remaining(now, old)]
    if (lost.length > 0 && gained.length > 0) return 'other'
    return gained.length > 0 ? 'wider' : 'narrower'
  }
  if (/^x-|^(deprecated|\$comment|\$id|\$schema)$/.test(name)) return undefined
  return was ? (is ? 'other' : 'wider') : 'narrower'
}

/** True if a limit is below another one. As an upper limit, `5, exclusive` is below 5. */
function isBelow(one: unknown, other: unknown): boolean {
  const [value, limit] = [one, other].map((text) => Number.parseFloat(String(text)))
  return value === limit ? typeof one === 'string' && typeof other !== 'string' : Number(value) < Number(limit)
}

function negative(limit: unknown): unknown {
  const value = -Number.parseFloat(String(limit ?? -Infinity))
  return typeof limit === 'string' ? `${value}, exclusive` : value
}

function isMultiple(value: unknown, of: unknown): boolean {
  return Number.isInteger(Number((Number(value) / Number(of)).toFixed(9)))
}

/** The elements of `from` that `to` lacks. `number` includes `integer`. */
function remaining(from: unknown, to: unknown): unknown[] {
  return missing(from, to).filter((one) => !(one === 'integer' && listOf(to).includes('number')))
}

export function ofKeyword(change: Change): Ruling {
  const { was, is, directions, before, after } = change
  const fact = (is ?? was) as Fact
  const name = key(fact)
  const node = fact.steps.slice(0, -1)
  if (name === 'required') return ofRequired(change, node)
  if (name === 'const') return ofConstant(change, node)
  const [old, now] = [typeIn(before, node), typeIn(after, node)]
  const isRetyped = old !== now && typing.includes(name)
  const width = widthOf(name, change)
  if (name === 'properties')
    return { impact: was ? 'major' : 'minor', message: `The fields of ${ownerOf(fact)} are ${was ? 'gone' : 'new'}.` }
  const impact = isRetyped ? 'major' : (ofOther(change, name, node) ?? (width ? by(width, directions) : 'minor'))
  const typed = isRetyped ? ` Generated code has ${now} where it had ${old}.` : ''
  return { impact, message: `${keywordSentence(change, name)}${typed}` }
}

/** Leaves out fields that only one contract has, because new and removed fields are reported separately. */
function ofRequired({ was, is, directions, before, after }: Change, node: string[]): Ruling {
  const isKept = (name: unknown) =>
    before.has(keyOf([...node, 'properties', String(name)])) === after.has(keyOf([...node, 'properties', String(name)]))
  const [lost, gained] = [missing(was?.value, is?.value).filter(isKept), missing(is?.value, was?.value).filter(isKept)]
  if (lost.length + gained.length === 0) return 'covered'
  const impact = highest([...lost.map(() => by('wider', directions)), ...gained.map(() => by('narrower', directions))])
  const owner = ownerOf((is ?? was) as Fact)
  const parts = [
    gained.length > 0 && `now requires ${gained.map(written).join(', ')}`,
    lost.length > 0 && `no longer requires ${lost.map(written).join(', ')}`,
  ]
  return { impact: impact ?? 'major', message: `${owner} ${parts.filter(Boolean).join(' and ')}.` }
}

/** `const` allows the same as `enum` with one value, but generators make a constant of it instead of a type. */
function ofConstant({ was, is, before, after }: Change, node: string[]): Ruling {
  const values = keyOf([...node, 'enum'])
  if (JSON.stringify(before.get(values)?.value) !== JSON.stringify(after.get(values)?.value)) return 'covered'
  const [old, now] = [typeIn(before, node), typeIn(after, node)]
  const message = `${ownerOf((is ?? was) as Fact)} is ${is ? 'now' : 'no longer'} a constant. Generated code has ${now} where it had ${old}.`
  return { impact: 'major', message }
}

function keywordSentence(change: Change, name: string): string {
  const { was, is } = change
  const fact = (is ?? was) as Fact
  if (name === 'title' && is?.at.endsWith('/$ref')) return `${ownerOf(fact)} is now the type \`${is.value}\`.`
  if (name === 'title' && was?.at.endsWith('/$ref')) return `${ownerOf(fact)} is no longer the type \`${was.value}\`.`
  if (name === '$ref') return `The type of ${ownerOf(fact)} ${describeChange(was?.value, is?.value)}.`
  if (name === 'default') return `The default of ${ownerOf(fact)} ${describeChange(was?.value, is?.value)}.`
  return sentence(change)
}

/** Rates a keyword by its effects on generated code and on apps, apart from the values that it allows. */
function ofOther({ was, is, directions, before, after }: Change, name: string, node: string[]): Impact | undefined {
  // Generated code depends on these.
  if (['default', 'discriminator', 'items', 'prefixItems', 'patternProperties', 'oneOf', 'anyOf'].includes(name))
    return 'major'
  // The constant disappears from generated code, and later ones get other numbers.
  if (name === 'enum' && missing(was?.value, is?.value).length > 0) return 'major'
  if (name === 'x-strict-fields' || /^x-(go|ogen)-/.test(name)) return 'major'
  // `true` adds a map to the fields of generated classes; in Kotlin, it changes the class. Some generators add the map
  // unless this is `false`.
  if (name === 'additionalProperties') return was?.value === false && !is ? by('wider', directions) : 'major'
  if (name === 'x-enum-varnames') return was && is && missing(was.value, is.value).length === 0 ? 'minor' : 'major'
  if (name === 'title') return isClass(typeIn(before, node)) || isClass(typeIn(after, node)) ? 'major' : 'patch'
  if (name === 'readOnly')
    // Java has no setter for a read-only field.
    return is ? 'major' : was && isRequired(after, node) ? by('narrower', directions) : 'minor'
  if (name === 'writeOnly') return is && directions.has('response') ? 'major' : 'minor'
  return undefined
}

export function isRequired(facts: Facts, node: string[]): boolean {
  return listOf(facts.get(keyOf([...node.slice(0, -2), 'required']))?.value).includes(node.at(-1))
}

const typing = [
  'type',
  'format',
  'contentEncoding',
  'uniqueItems',
  'title',
  'enum',
  '$ref',
  'oneOf',
  'anyOf',
  'additionalProperties',
  'items',
]

const formats: Record<string, string> = {
  ...{ date: 'a date', 'date-time': 'a time', uuid: 'a UUID', uri: 'a URI', binary: 'a file' },
  ...{ int64: 'a long integer', int32: 'an integer', float: 'a float', double: 'a double', decimal: 'a decimal' },
}

const isClass = (type: string) => type.startsWith('the class') || type.startsWith('an unnamed class')

/** A nullable type is a different type in Go and Rust, and has different accessors in Java. */
function typeIn(facts: Facts, node: string[]): string {
  const isNullable = listOf(facts.get(keyOf([...node, 'type']))?.value).includes('null')
  return `${plainTypeIn(facts, node)}${isNullable ? ' or null' : ''}`
}

/**
 * The type that openapi-generator makes in Java, Kotlin, Go and Python, precisely enough to notice when it changes. The
 * class of an untitled schema is named after its place, which is the same in both contracts.
 */
function plainTypeIn(facts: Facts, node: string[]): string {
  const value = (name: string) => facts.get(keyOf([...node, name]))?.value
  const has = (name: string) => facts.has(keyOf([...node, name]))
  const title = value('title')
  if (value('$ref')) return `the class ${value('$ref')}`
  if (node.length === 2 && node[0] === 'types' && !has('enum') && has('properties'))
    return `the class ${title ?? node[1]}`
  if (has('properties') || has('oneOf') || has('anyOf')) return title ? `the class ${title}` : 'an unnamed class'
  if (has('const')) return 'a constant'
  if (has('enum')) return title ? `the class ${title}` : 'an enum'
  const types = listOf(value('type') ?? []).filter((type) => type !== 'null')
  if (types.length !== 1) return 'any value'
  const [type] = types
  if (type === 'array') return value('uniqueItems') ? 'a set' : 'a list'
  if (type === 'object')
    return has('additionalProperties') && value('additionalProperties') !== false ? 'a map' : 'any object'
  const format = String(value('format') ?? value('contentEncoding') ?? '')
  const plain = { integer: 'an integer', number: 'a decimal', boolean: 'a boolean' }[String(type)]
  return formats[format] ?? plain ?? (format ? `a string as ${format}` : 'a string')
}

export const commonBodyLimit = 1024 * 1024

/** The most bytes in UTF-8 of a character of common scripts, if the client does not escape it. */
const bytesPerCharacter = 3

/** More bytes than a number, true, false or null has. */
const bytesOfScalar = 25

/** The most bytes of JSON of this schema without white space, escapes and unknown fields; Infinity without a limit. */
export function largest(facts: Facts, steps: string[]): number {
  const value = (name: string) => facts.get(keyOf([...steps, name]))?.value
  const limit = (name: string) => Number(value(name) ?? Number.POSITIVE_INFINITY)
  const reference = value('$ref')
  if (reference !== undefined) return largest(facts, ['types', String(reference)])
  if (value('enum')) return Math.max(...listOf(value('enum')).map((one) => JSON.stringify(one).length))
  const [type] = listOf(value('type'))
  if (type === 'string') return 2 + bytesPerCharacter * limit('maxLength')
  if (type === 'array') return 2 + limit('maxItems') * (largest(facts, [...steps, 'items']) + 1)
  if (type !== 'object') return type === undefined ? Number.POSITIVE_INFINITY : bytesOfScalar
  const fields = listOf(facts.get(keyOf([...steps, 'properties', '(order)']))?.value).map(String)
  return 2 + fields.reduce((sum, name) => sum + name.length + 4 + largest(facts, [...steps, 'properties', name]), 0)
}
