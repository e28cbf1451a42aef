import { ServiceError } from '../contract/errors.ts'
import type { ClientMessage } from '../contract/schemas.ts'
import { faultFinderOf } from '../contract/validation.ts'

const faultFinders = {
  sync: faultFinderOf('ChangeMessage', 'asyncapi'),
  ping: faultFinderOf('PingMessage', 'asyncapi'),
  pong: faultFinderOf('PongMessage', 'asyncapi'),
}

/** Reads a client's message; throws a BadRequest that names the fault. */
export function readMessage(data: Buffer, isBinary: boolean): ClientMessage {
  if (isBinary) throw malformed('it is binary')
  const message = parse(data)
  const type = String(message?.type)
  if (!Object.hasOwn(faultFinders, type))
    throw malformed(`type must be one of: ${Object.keys(faultFinders).join(', ')}`)
  const fault = faultFinders[type as keyof typeof faultFinders](message)
  if (fault !== undefined) throw malformed(fault)
  return message as ClientMessage
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
