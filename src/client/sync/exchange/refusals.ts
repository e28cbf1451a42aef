import { sealedLength } from '../../crypto/record.ts'
import { ApiError } from '../../errors.ts'
import type { Replica } from '../store/replica.ts'
import type { Refusal, Waiting } from '../store/store.ts'

/** After so many refusals in a row, the service refuses everything, whatever the changes are. */
const mostInARow = 100
const quotaText = 'Storage quota exceeded'
export const overQuota: Refusal = { reason: 'quota', status: 413, message: quotaText }

/** What the service refused during one push of the queue. */
export class Refusals {
  /** By operation, by how many bytes the smallest change grew that exceeded the quota. */
  readonly #overQuota = new Map<string, number>()
  #inARow = 0

  /** The service took something. */
  reset(): void {
    this.#inARow = 0
  }

  /** @throws ApiError the service refuses everything */
  add(replica: Replica, { change }: Waiting, error: ApiError): void {
    const growth = growthOf(replica, change)
    if (isOverQuota(error) && growth !== undefined && growth > 0) {
      this.#overQuota.set(change.operation, Math.min(growth, this.#overQuota.get(change.operation) ?? growth))
    }
    if (++this.#inARow === mostInARow) throw error
  }

  /** Where one change exceeded the quota, every change like it that needs as much or more is hopeless. */
  sort(replica: Replica, batch: readonly Waiting[]): { sendable: Waiting[]; hopeless: Waiting[] } {
    const sendable: Waiting[] = []
    const hopeless: Waiting[] = []
    for (const waiting of batch) {
      const limit = this.#overQuota.get(waiting.change.operation)
      const growth = limit === undefined ? undefined : growthOf(replica, waiting.change)
      const isHopeless = limit !== undefined && growth !== undefined && growth >= limit
      ;(isHopeless ? hopeless : sendable).push(waiting)
    }
    return { sendable, hopeless }
  }
}

/** Whether the service refused the content of a push. It then stored nothing of it. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 400 || error.status === 413)
}

export function toRefusal(error: ApiError): Refusal {
  return { reason: isOverQuota(error) ? 'quota' : 'refused', status: error.status, message: error.message }
}

function isOverQuota({ status, message }: ApiError): boolean {
  return status === 413 && message === quotaText
}

/** How many bytes more the service would store (undefined: it cannot be told). A deleted record keeps its ciphertext. */
function growthOf({ rows }: Replica, { entity_id, encrypted_data = '' }: Waiting['change']): number | undefined {
  const version = rows.get(entity_id)?.version
  if (!version) return encrypted_data.length
  return version.bookmark ? encrypted_data.length - sealedLength(version.bookmark) : undefined
}
