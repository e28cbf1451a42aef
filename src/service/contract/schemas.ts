import type { components as messages } from '../../../generated/asyncapi.ts'
import type { components } from '../../../generated/openapi.ts'

export type { OperationId } from '../../../generated/operations.ts'
export type Schemas = components['schemas']
export type ServerMessage = messages['schemas'][`${'Connected' | 'Sync' | 'Ping' | 'Pong' | 'Error'}Message`]
export type ClientMessage = messages['schemas'][`${'Change' | 'Ping' | 'Pong'}Message`]
