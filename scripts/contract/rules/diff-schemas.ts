import { ancestors, type Change, type DiffRule, missing, nameOf, type Pair, quoted, typeOf } from './diff-change.ts'

/** A change inside a condition does not show whether more or less is accepted. */
export const conditionChanged: DiffRule = () => ({
  any(change, { report }) {
    if (isWords(change)) return
    const condition = schemasAround(change.node).find((node) => ['if', 'not'].includes(nameOf(node)))
    if (condition) report({ message: `A condition changed. ${sentence(change)}` })
  },
})

/** Types of data inside ciphertext and files, which clients both read and write. New fields are harmless. */
export const carriedByNoneChanged: DiffRule = () => ({
  any(change, { report, getDirections }) {
    if (change.kind === 'added' || isWords(change) || isTypeItself(change) || getDirections().length > 0) return
    if (isHeaderInOtherCase(change)) return
    if (schemasAround(change.node).length > 0) report({ message: sentence(change) })
  },
})

function schemasAround(node: Pair): Pair[] {
  return [node, ...ancestors(node)].filter((each) => typeOf(each) === 'Schema')
}

function isTypeItself({ kind, property, node }: Change): boolean {
  const named = node.parent !== null && typeOf(node.parent) === 'NamedSchemas'
  return named && (kind === 'removed' || property === 'key')
}

function isHeaderInOtherCase({ property, node, base, revision }: Change): boolean {
  const [before, after] = [base, revision].map((side) => String(side?.value).toLowerCase())
  const isHeader = ancestors(node).some((each) => nameOf(each) === 'headers')
  return property === 'key' && before === after && isHeader
}

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

function isWords(change: Change): boolean {
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

function sentence({ kind, property, node, base, revision }: Change): string {
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

/** Generated clients have a class for each tag, and the methods of the operations whose first tag it is. */
export const tagChanged: DiffRule = () => ({
  any({ property, node, base, revision }, { report }) {
    if (property !== 'tags') return
    const [before, after] = [base, revision].map((side) => (Array.isArray(side?.value) ? side.value[0] : undefined))
    if (before !== after)
      report({ message: `The first tag of \`${nameOf(node)}\` changed from \`${before}\` to \`${after}\`.` })
  },
})

/** Generated clients do not read it from a response. */
export const writeOnlyAdded: DiffRule = () => ({
  Schema({ property, node, revision }, { report }) {
    // By the new value, the field is in no response any more, so the context gives no direction.
    const isResponse = ancestors(node).some((each) => typeOf(each) === 'Response')
    if (property === 'writeOnly' && revision?.value === true && isResponse)
      report({ message: `\`${nameOf(node)}\` is now \`writeOnly\`, so it is missing in responses.` })
  },
})

/** `allOf` around one `$ref` means what the `$ref` alone means: it only gives it a place for a description. */
export function unwrapAllOf() {
  return {
    Schema: {
      leave(schema: { allOf?: object[] }) {
        const [only, ...others] = schema.allOf ?? []
        const isWrapper = Object.keys(schema).every((keyword) => ['allOf', 'description'].includes(keyword))
        if (!only || others.length > 0 || !isWrapper || !('$ref' in only)) return
        delete schema.allOf
        Object.assign(schema, only)
      },
    },
  }
}

/** These names are never sent, but without them, code that uses the client's types no longer compiles. */
export const clientNameRemoved: DiffRule = () => ({
  NamedSchemas: {
    Schema({ kind, property, node, base, revision }, { report }) {
      if (kind === 'removed') report({ message: `The type \`${nameOf(node)}\` is gone.` })
      if (property === 'key') report({ message: `The type \`${base?.value}\` is now \`${revision?.value}\`.` })
    },
  },
  PathItem({ property, base, revision }, { report }) {
    if (property === 'key') report({ message: `Calls of \`${base?.value}\` are now written \`${revision?.value}\`.` })
  },
  Parameter({ property, base, revision }, { report }) {
    if (property === 'name') report({ message: `The parameter \`${base?.value}\` is now \`${revision?.value}\`.` })
  },
})

export const clientNameAdded: DiffRule = () => ({
  NamedSchemas: {
    Schema({ kind, node }, { report }) {
      if (kind === 'added') report({ message: `The type \`${nameOf(node)}\` is new.` })
    },
  },
})
