/** Each of `mutations` is reported unless it has no meaning, and none makes the review crash. */
import { isDeepStrictEqual } from 'node:util'
import { parseYaml } from '@redocly/openapi-core'
import t from 'tap'
import type { Contract } from '../../scripts/contract/openapi.ts'
import { compareDocuments } from '../../scripts/contract/review/compare.ts'
import { original } from './contract.ts'

type Node = Record<string, unknown>

/** The changes that are tried on each field of the document and on each element of a list. */
const mutations: Record<string, (node: Node, name: string) => void> = {
  removed: (node, name) => {
    if (Array.isArray(node)) node.splice(Number(name), 1)
    else delete node[name]
  },
  renamed: (node, name) => {
    for (const [key, value] of Object.entries(Array.isArray(node) ? {} : node)) {
      delete node[key]
      node[key === name ? `${key}2` : key] = value
    }
  },
  'of another value': (node, name) => {
    const value = node[name]
    if (typeof value === 'string') node[name] = `${value}2`
    if (typeof value === 'number') node[name] = value + 1
    if (typeof value === 'boolean') node[name] = !value
  },
}

/** Changes without meaning: version, names of examples other than errors, unused errors, a type next to an enum. */
const isEquivalent =
  /^info.version|examples.\w+: renamed|^components.examples.NoteDeleted|(error|colour|state).type: removed/

for (const file of ['openapi.yaml', 'asyncapi.yaml', '../workflows.arazzo.yaml'])
  t.test(file, (t) => {
    const before = parseYaml(original(file).replaceAll('openapi.yaml#', '#')) as Contract
    const untold: string[] = []
    for (const path of pathsOf(before)) {
      for (const [what, mutate] of Object.entries(mutations)) {
        const after = structuredClone(before)
        const node = path.slice(0, -1).reduce((inner, name) => inner[name] as Node, after as unknown as Node)
        mutate(node, path.at(-1) ?? '')
        if (isDeepStrictEqual(before, after)) continue
        const change = `${path.join('/')}: ${what}`
        try {
          if (compareDocuments({ file, before, after }).length === 0) untold.push(change)
        } catch (error) {
          // The lint already refuses a reference to a missing part.
          if (!String(error).includes('is not in the contract'))
            t.fail(change, { error: String((error as Error).stack) })
        }
      }
    }
    t.same(
      untold.filter((change) => !isEquivalent.test(change)),
      [],
    )
    t.end()
  })

function pathsOf(node: unknown): string[][] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, child]) => [[name], ...pathsOf(child).map((rest) => [name, ...rest])])
}
