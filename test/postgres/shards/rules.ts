import { distributed, reference } from '../../../src/service/db/distribute.ts'
import type { Definition } from './partition.ts'

/** Tables that are not distributed and stay on the coordinator. */
const local = ['heartbeat']
const columnOf = new Map<string, string>(Object.entries(distributed))
const everywhere = new Set<string>([...reference, ...local])

/** Keys that Citus would refuse or that do not begin with the table's column, and unlisted tables, with the reasons. */
export function findFaults(definitions: Definition[]): string[] {
  return definitions.flatMap(({ table, name, kind, definition }) => {
    const column = columnOf.get(table)
    if (column === undefined && !everywhere.has(table)) return [`${table} is in no list of db/distribute.ts`]
    const [own = [], others = []] = columnLists(definition)
    if (kind === 'f') {
      const target = /REFERENCES (\w+)/.exec(definition)?.[1] ?? ''
      const theirs = columnOf.get(target)
      if (theirs === undefined) return []
      if (column === undefined) return [`${name}: a reference table refers to ${target}`]
      const isPaired = own[others.indexOf(theirs)] === column
      return isPaired ? [] : [`${name}: ${column} does not refer to ${target}.${theirs}`]
    }
    const isUnique = kind === 'p' || kind === 'u' || definition.startsWith('CREATE UNIQUE INDEX')
    if (column !== undefined && kind === 'p' && own[0] !== column) return [`${name}: does not begin with ${column}`]
    return column !== undefined && isUnique && !own.includes(column) ? [`${name}: lacks ${column}`] : []
  })
}

function columnLists(definition: string): string[][] {
  return [...definition.matchAll(/\(([\w, ]+)\)/g)].map(([, list = '']) => list.split(', '))
}

interface Plan {
  'Relation Name'?: string
  Plans?: Plan[]
}

/** The numbers of the partitions that a plan reaches. In all tables, a user's rows are in the same number. */
export function shardsOf(plan: Plan): Set<string> {
  const own = /_(\d+)$/.exec(plan['Relation Name'] ?? '')?.[1]
  const below = (plan.Plans ?? []).flatMap((child) => [...shardsOf(child)])
  return new Set(own === undefined ? below : [own, ...below])
}
