import { ancestors, type Change, type DiffRule, nameOf, type Pair, typeOf } from './change.ts'
import { isWords, sentence } from './words.ts'

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
