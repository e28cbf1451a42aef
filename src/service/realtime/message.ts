import asyncapi from '../../../generated/asyncapi.json' with { type: 'json' }
import { ServiceError } from '../contract/errors.ts'
import { describeFault } from '../contract/faults.ts'
import type { ClientMessage } from '../contract/schemas.ts'
import { ajv, type FindFaults, faultFinder } from '../contract/validators.ts'

ajv.addSchema(asyncapi, 'asyncapi.json')

const validators = new Map<unknown, FindFaults>([
  ['sync', compile('ChangeMessage')],
  ['ping', compile('PingMessage')],
  ['pong', compile('PongMessage')],
])

/** Reads a client's message; throws a BadRequest that names the fault. */
export function readMessage(data: Buffer, isBinary: boolean): ClientMessage {
  if (isBinary) throw malformed('it is binary')
  const message = parse(data)
  const findFaults = validators.get(message?.type)
  if (!findFaults) throw malformed(`type must be one of: ${[...validators.keys()].join(', ')}`)
  const faults = findFaults(message)
  if (faults) throw malformed(describeFault(faults))
  return message as ClientMessage
}

function compile(name: keyof typeof asyncapi.components.schemas): FindFaults {
  return faultFinder({ $ref: `asyncapi.json#/components/schemas/${name}` })
}

function parse(data: Buffer): { type?: unknown } | null {
  try {
    return JSON.parse(data.toString())
  } catch {
    throw malformed('it is not JSON')
  }
}

function malformed(fault: string): ServiceError {
  return new ServiceError('BadRequest', { message: `Malformed message: ${fault}` })
}
