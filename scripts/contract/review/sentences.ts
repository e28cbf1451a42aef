import { type Change, missing } from './changes.ts'
import type { Fact } from './facts.ts'

export function key({ steps }: Fact): string {
  return steps.at(-1) ?? ''
}

const omitted = [
  'x-limits',
  'x-cookie',
  'servers',
  'schema',
  'properties',
  'items',
  'content',
  'application/json',
  'payload',
  'types',
]

/** The last name of a place that helps a reader to find it. */
export function shownIn({ place }: Fact, end: number): string {
  const names = end < 0 ? place.slice(0, end) : place
  return names.findLast((name) => !omitted.includes(name)) ?? 'the document'
}

export function quoted(name: string): string {
  return name === 'the document' ? name : `\`${name}\``
}

export function named(fact: Fact | undefined): string {
  return fact ? quoted(shownIn(fact, 0)) : ''
}

export function ownerOf(fact: Fact): string {
  return quoted(shownIn(fact, -1))
}

export function sentence(change: Change): string {
  const { was, is } = change
  const fact = (is ?? was) as Fact
  const isObject = fact.value === undefined
  if (isObject && !was) return `${named(fact)} is new.`
  if (isObject && !is) return `${named(fact)} is gone.`
  if (isObject && was?.value === undefined) return renaming(was as Fact, fact)
  const owner = ownerOf(fact) === 'the document' ? '' : ` of ${ownerOf(fact)}`
  return `\`${key(fact)}\`${owner} ${describeChange(was?.value, is?.value)}.`
}

/** Reports a renamed fact, by its key if the place is the same: uses of a component show the component's place. */
export function renaming(was: Fact, is: Fact): string {
  const isNamed = named(was) !== named(is)
  return isNamed ? `${named(was)} is now ${named(is)}.` : `\`${key(was)}\` is now \`${key(is)}\`.`
}

export function describeChange(before: unknown, after: unknown): string {
  if (before === undefined) return `is new: ${written(after)}`
  if (after === undefined) return `is gone; it was ${written(before)}`
  if (!Array.isArray(before) || !Array.isArray(after)) return `changed from ${written(before)} to ${written(after)}`
  const [lost, gained] = [missing(before, after), missing(after, before)]
  const parts = [
    gained.length > 0 && `gained ${gained.map(written).join(', ')}`,
    lost.length > 0 && `lost ${lost.map(written).join(', ')}`,
  ]
  return parts.filter(Boolean).join(' and ') || 'is in a different order'
}

export function written(value: unknown): string {
  if (Array.isArray(value)) return value.map(written).join(', ')
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `\`${text.length > 200 ? `${text.slice(0, 199)}…` : text}\``
}
