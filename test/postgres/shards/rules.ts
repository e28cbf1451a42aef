import type { Definition, Distribution } from './partition.ts'

/** Which keys Citus would refuse, each with the reason. */
export function findFaults(definitions: Definition[], { distributed, reference }: Distribution): string[] {
  return definitions.flatMap(({ table, name, kind, definition }) => {
    const column = distributed.get(table)
    if (column === undefined && !reference.has(table)) return [`${table} is in no list of distribute.sql`]
    const [own = [], others = []] = columnLists(definition)
    if (kind === 'f') {
      const target = /REFERENCES (\w+)/.exec(definition)?.[1] ?? ''
      const theirs = distributed.get(target)
      if (theirs === undefined) return []
      if (column === undefined) return [`${name}: a reference table refers to ${target}`]
      const isPaired = own[others.indexOf(theirs)] === column
      return isPaired ? [] : [`${name}: ${column} does not refer to ${target}.${theirs}`]
    }
    const isUnique = kind === 'p' || kind === 'u' || definition.startsWith('CREATE UNIQUE INDEX')
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

/** The numbers of the partitions that a plan reaches: those of one user's rows have one number. */
export function shardsOf(plan: Plan): Set<string> {
  const own = /_(\d+)$/.exec(plan['Relation Name'] ?? '')?.[1]
  const below = (plan.Plans ?? []).flatMap((child) => [...shardsOf(child)])
  return new Set(own === undefined ? below : [own, ...below])
}
