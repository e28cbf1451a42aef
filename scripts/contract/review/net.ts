import type { Contract } from '../openapi.ts'
import { type Facts, isUsual } from './facts.ts'
import { escaped } from './nodes.ts'
import { component } from './schema.ts'

/** JSON pointers of differences between two contracts that no fact covers. */
export function unratedIn(base: [Contract, Facts], revision: [Contract, Facts]): string[] {
  const [before, after] = [leavesOf(...base), leavesOf(...revision)]
  // If only one contract's facts contain a value, another change reports that it was added or removed.
  const isRead = (at: string) => before.get(at)?.isRead || after.get(at)?.isRead
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (at) => !isRead(at) && before.get(at)?.text !== after.get(at)?.text,
  )
}

/** Places that are compared otherwise: versions, references (by their targets), errors (per operation) and texts. */
const isRatedElsewhere = /^#\/info\/version$|\/\$ref$|^#\/components\/examples\/|\/(description|summary)$/

function leavesOf(contract: Contract, facts: Facts): Map<string, { text: string; isRead: boolean }> {
  const [read, opened] = [new Set<string>(), new Set<string>()]
  for (const { at, also = [], value, steps, of } of facts.values()) {
    // These facts are about what is at their place, but do not contain its value.
    const isAbout = of === 'errors' || ['(order)', component].includes(steps.at(-1) ?? '')
    const places = value === undefined || isAbout ? opened : read
    for (const place of [at, ...also]) places.add(place)
  }
  const found = new Map<string, { text: string; isRead: boolean }>()
  collect(contract, '#', '', false)
  return found

  function collect(node: unknown, at: string, name: string, isWithin: boolean): void {
    if (isRatedElsewhere.test(at) || isUsual(name, node)) return
    const isRead = isWithin || read.has(at)
    const children = typeof node === 'object' && node !== null ? Object.entries(node) : []
    if (children.length === 0) found.set(at, { text: JSON.stringify(node), isRead: isRead || opened.has(at) })
    for (const [key, child] of children) collect(child, `${at}/${escaped(key)}`, key, isRead)
  }
}
