import { type DiffRule, field, nameOf } from './change.ts'
import { largestBody } from './largest-body.ts'

/** Existing clients keep sending the property, and the service would ignore it. */
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
        report({ message: `The fields of \`${nameOf(node.parent ?? node)}\` are no longer read.` })
    },
  },
})

export const requestBodyDemanded: DiffRule = () => ({
  RequestBody({ kind, node }, { report }) {
    if (kind === 'added' && field(node.revision, 'required') === true) report({ message: 'The body is now required.' })
  },
})

/** A client that omits the field gets a different result than before. */
export const defaultChanged: DiffRule = () => ({
  Schema({ property, node, base, revision }, { report, getDirections }) {
    if (property !== 'default' || base?.value === undefined || !getDirections().includes('request')) return
    report({ message: `The default of \`${nameOf(node)}\` changed from \`${base.value}\` to \`${revision?.value}\`.` })
  },
})

/** A limit that still has room for every body that was valid only refuses what the operation did not read. */
export const bodyLimitLowered: DiffRule = () => ({
  Operation({ node, property, base, revision }, { report }) {
    if (property !== 'x-body-limit') return
    const [before, after] = [base, revision].map((side) => Number(side?.value ?? commonBodyLimit))
    if (Number(after) < Number(before) && Number(after) < largestBody(node.base))
      report({ message: `The limit of the body fell from ${before} to ${after} bytes.` })
  },
})

const commonBodyLimit = 1024 * 1024

/** Clients only know the operation's previous success statuses. Unknown errors they must handle anyway. */
export const successAdded: DiffRule = () => ({
  Responses: {
    Response({ kind, node }, { report }) {
      if (kind === 'added' && /^[23]/.test(nameOf(node)))
        report({ message: `The operation may now respond with ${nameOf(node)}.` })
    },
  },
})

export const headerUnpromised: DiffRule = () => ({
  Header({ property, node, base, revision }, { report, getDirections }) {
    if (property === 'required' && base?.value === true && revision?.value !== true)
      if (getDirections().includes('response')) report({ message: `\`${nameOf(node)}\` may be missing.` })
  },
})
