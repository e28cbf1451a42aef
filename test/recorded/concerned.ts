import { type OperationId, operations } from '../../generated/operations.ts'
import type { Documents } from '../support/conformance.ts'
import type { Traffic } from '../support/traffic.ts'
import type { Mutant } from './mutants.ts'

/** Finds the traffic that is most likely to detect a mutant: its operation or schema refers to the changed part. */
export function findConcerned({ openapi }: Documents, traffic: Traffic[]): (mutant: Mutant) => Traffic[] {
  const contract = openapi as Openapi
  const messages = traffic.filter(({ kind }) => kind === 'message' || kind === 'taken')
  const others = Map.groupBy(
    traffic.filter((one) => one.kind === 'exchange' || one.kind === 'opened'),
    (one) => (one.kind === 'exchange' ? operationOf(one.operationId) : `components schemas ${one.schema}`),
  )
  const known = [...others].map(([part, own]) => ({ own, parts: partsBehind(contract, part) }))
  return ({ at: [document, ...steps] }) => {
    if (document === 'asyncapi') return messages
    const part = steps.slice(0, 3).join(' ')
    return known.filter(({ parts }) => parts.has(part)).flatMap(({ own }) => own)
  }
}

interface Openapi {
  [step: string]: Openapi | undefined
}

function operationOf(operationId: string): string {
  const { path, method } = operations[operationId as OperationId]
  return `paths ${path} ${method.toLowerCase()}`
}

/** The paths of an operation or component and of everything it refers to. */
function partsBehind(openapi: Openapi, part: string, found = new Set<string>()): Set<string> {
  if (found.has(part)) return found
  found.add(part)
  const node = part.split(' ').reduce<Openapi | undefined>((node, step) => node?.[step], openapi)
  for (const [, reference = ''] of JSON.stringify(node).matchAll(/"#\/(components\/\w+\/[^/"]+)/g))
    partsBehind(openapi, reference.replaceAll('/', ' '), found)
  return found
}
