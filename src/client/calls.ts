/** `encrypted-bookmark-sync-client/calls`: the typed calls alone, for apps with a sync engine of their own, or none. */
export type { components, operations, paths } from '../../generated/client.ts'
export { type Client, type ClientOptions, createClient } from './api/client.ts'
export type { SendRequest } from './api/retry.ts'
export { type CallResult, unwrap } from './api/unwrap.ts'
export { ApiError, SignedOutError } from './errors.ts'
