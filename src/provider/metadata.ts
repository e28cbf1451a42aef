import * as oauth from 'oauth4webapi'

const staleMs = 3_600_000
const pauseMs = 60_000

export interface ProviderMetadata {
  /** Cached after the first success. After an hour it is fetched again in the background. */
  current(): Promise<oauth.AuthorizationServer>
  /** Asks the provider now. */
  renew(): Promise<oauth.AuthorizationServer>
  /** Asks again, unless that was tried within the last minute; then returns what is cached. */
  renewSparingly(): Promise<oauth.AuthorizationServer>
}

export function keepMetadata(issuer: URL, options: oauth.DiscoveryRequestOptions): ProviderMetadata {
  let kept: oauth.AuthorizationServer | null = null
  let keptAt = 0
  let triedAt = 0
  let pending: Promise<oauth.AuthorizationServer> | null = null

  const discover = async () => {
    const response = await oauth.discoveryRequest(issuer, options)
    const found = await oauth.processDiscoveryResponse(issuer, response)
    // The library caches the provider's keys by the identity of this object, so it changes only if its content does.
    if (kept === null || JSON.stringify(kept) !== JSON.stringify(found)) kept = found
    keptAt = Date.now()
    return kept
  }
  const renew = () => {
    triedAt = Date.now()
    pending ??= discover().finally(() => {
      pending = null
    })
    return pending
  }
  const renewSparingly = async () => (kept === null || Date.now() - triedAt >= pauseMs ? renew() : kept)
  return {
    renew,
    renewSparingly,
    async current() {
      if (kept === null) return renew()
      if (Date.now() - keptAt >= staleMs) renewSparingly().catch(() => {})
      return kept
    },
  }
}
