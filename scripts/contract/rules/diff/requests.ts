import { type DiffRule, field, nameOf } from './change.ts'

/** What a client goes on sending would no longer be heard. */
export const requestPropertyRemoved: DiffRule = () => ({
  SchemaProperties: {
    Schema({ kind, property, node, base, revision }, { report, getDirections }) {
      if (!getDirections().includes('request')) return
      if (kind === 'removed') report({ message: `\`${nameOf(node)}\` is no longer read.` })
      if (property === 'key') report({ message: `\`${base?.value}\` is now \`${revision?.value}\`.` })
    },
  },
  Schema: {
    SchemaProperties({ kind, node }, { report, getDirections }) {
      if (kind === 'removed' && getDirections().includes('request'))
        report({ message: `No field of \`${nameOf(node.parent ?? node)}\` is read any longer.` })
    },
  },
})

export const requestBodyDemanded: DiffRule = () => ({
  RequestBody({ kind, node }, { report }) {
    if (kind === 'added' && field(node.revision, 'required') === true) report({ message: 'A body became required.' })
  },
})
