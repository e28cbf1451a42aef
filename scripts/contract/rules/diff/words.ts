import { ancestors, type Change, type DiffRule, missing, nameOf, quoted, typeOf } from './change.ts'

const properties = ['description', 'summary', 'title', 'example', 'examples', 'tags', 'x-codeSamples', 'x-summary']

const types = [
  ...['Info', 'Contact', 'License', 'Logo', 'Tag', 'TagList', 'TagGroup', 'TagGroups', 'ExternalDocs'],
  ...['Example', 'ExamplesMap', 'MessageExample', 'MessageExampleList', 'XCodeSample', 'XCodeSampleList'],
]

/** Changes of texts, which people read and programs do not. */
export const wordsChanged: DiffRule = () => ({
  any(change, { report }) {
    if (isWords(change)) report({ message: sentence(change) })
  },
})

/** All other changes. Programs may read them, but existing clients notice none unless another rule says so. */
export const harmlessChanged: DiffRule = () => ({
  any(change, { report }) {
    if (!isWords(change)) report({ message: sentence(change) })
  },
})

export function isWords(change: Change): boolean {
  const { kind, property, node } = change
  const around = [node, ...ancestors(node)]
  if (around.some((each) => types.includes(typeOf(each) ?? ''))) return true
  if (kind === 'modified' && properties.includes(property ?? '')) return true
  return isNameWithin(change)
}

/** The names of shared components, which no client sees. Schemas are different: they are types of the client. */
function isNameWithin({ kind, property, node }: Change): boolean {
  const types = [node, node.parent, node.parent?.parent].map((each) => each && typeOf(each))
  if (!types.includes('Components') || types.includes('NamedSchemas')) return false
  return kind !== 'modified' || property === 'key'
}

export function sentence({ kind, property, node, base, revision }: Change): string {
  const name = `\`${nameOf(node)}\``
  if (kind === 'added') return `${name} is new.`
  if (kind === 'removed') return `${name} is gone.`
  if (property === 'key') return `\`${base?.value}\` is now \`${revision?.value}\`.`
  if (property?.startsWith('example')) return `The ${property} of ${name} changed.`
  if (properties.includes(property ?? '')) return `\`${property}\` of ${name} was reworded.`
  return `\`${property}\` of ${name} ${happened(base?.value, revision?.value)}.`
}

function happened(before: unknown, after: unknown): string {
  if (Array.isArray(before) && Array.isArray(after)) return happenedToList(before, after)
  if (isLong(before) || isLong(after)) return 'changed'
  if (before === undefined) return `is now \`${after}\``
  if (after === undefined) return `is gone; it was \`${before}\``
  return `changed from \`${before}\` to \`${after}\``
}

function happenedToList(before: unknown[], after: unknown[]): string {
  const [lost, gained] = [missing(before, after), missing(after, before)]
  const parts = [gained.length > 0 && `gained ${quoted(gained)}`, lost.length > 0 && `lost ${quoted(lost)}`]
  return parts.filter(Boolean).join(' and ') || 'is in a different order'
}

function isLong(value: unknown): boolean {
  return String(value).length > 60
}
