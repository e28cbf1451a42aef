import { onDemand } from '../timing/on-demand.ts'

export type Deferred = typeof import('./deferred.ts')

/** @throws OfflineError the file did not arrive; the next call tries again */
export type LoadDeferred = () => Promise<Deferred>

export const loadDeferred: LoadDeferred = () => onDemand(import('./deferred.ts'))
