import { type DiffRule, field, missing, nameOf, type Pair, quoted, typeOf } from './change.ts'

/** Clients switch over the values of a response. Error texts are left to the review, which knows each operation's. */
export const responseValueAdded: DiffRule = () => ({
  Schema(change, { report, getDirections }) {
    if (change.property !== 'enum' || isErrorText(change.node) || !getDirections().includes('response')) return
    const { base, revision } = change
    if (base?.value === undefined) return
    if (revision?.value === undefined) return report({ message: `\`${nameOf(change.node)}\` may now be any value.` })
    const added = missing(revision.value, base.value)
    if (added.length > 0) report({ message: `\`${nameOf(change.node)}\` may now be ${quoted(added)}.` })
  },
})

/** Who leaves a field out gets something else than before. */
export const defaultChanged: DiffRule = () => ({
  Schema({ property, node, base, revision }, { report, getDirections }) {
    if (property !== 'default' || base?.value === undefined || !getDirections().includes('request')) return
    report({ message: `The default of \`${nameOf(node)}\` was \`${base.value}\`, now \`${revision?.value}\`.` })
  },
})

export const bodyLimitLowered: DiffRule = () => ({
  Operation({ property, base, revision }, { report }) {
    if (property !== 'x-body-limit') return
    const [before, after] = [base, revision].map((side) => Number(side?.value ?? commonBodyLimit))
    if (Number(after) < Number(before)) report({ message: `A body may have ${after} bytes, before it was ${before}.` })
  },
})

const commonBodyLimit = 1024 * 1024

/** The field `error` of an answer with a fixed list of sentences. */
function isErrorText({ base, revision, parent }: Pair): boolean {
  const isString = [base, revision].every((side) => field(side, 'type') === 'string')
  return isString && (revision ?? base)?.key === 'error' && parent !== null && typeOf(parent) === 'SchemaProperties'
}
