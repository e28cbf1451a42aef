import * as oauth from 'oauth4webapi'
import { ProviderRefusedError } from './provider.ts'

const staleMs = 3_600_000
const pauseMs = 60_000
const maxIssuerLength = 2048

export function keepMetadata(issuer: URL, options: oauth.DiscoveryRequestOptions, place = issuer) {
  let kept: oauth.AuthorizationServer | null = null
  let keptAt = 0
  let triedAt = 0
  let pending: Promise<oauth.AuthorizationServer> | null = null

  const discover = async () => {
    const found = await read(issuer, await oauth.discoveryRequest(place, options))
    // The library caches the provider's keys by this object, so the object is only replaced if its content has changed.
    if (kept === null || JSON.stringify(kept) !== JSON.stringify(found)) kept = found
    keptAt = Date.now()
    return kept
  }
  /** Fetches the metadata now, or joins a fetch that is under way. */
  const renew = () => {
    triedAt = Date.now()
    pending ??= discover().finally(() => {
      pending = null
    })
    return pending
  }
  /** Fetches the metadata, unless that was tried within the last minute; then returns the cached metadata. */
  const renewSparingly = async () => (kept === null || Date.now() - triedAt >= pauseMs ? renew() : kept)
  return {
    renew,
    renewSparingly,
    /** Returns the cached metadata. If it is an hour old, fetches it again in the background. */
    async current() {
      if (kept === null) return renew()
      if (Date.now() - keptAt >= staleMs) renewSparingly().catch(() => {})
      return kept
    },
  }
}

/** Reads the metadata. Its errors say what is wrong with OIDC_ISSUER or the provider, because operators get them. */
async function read(issuer: URL, response: Response): Promise<oauth.AuthorizationServer> {
  if (response.status >= 400) {
    const place = `${issuer.origin}${issuer.pathname.replace(/\/$/, '')}/.well-known/openid-configuration`
    throw new ProviderRefusedError(`no OpenID provider has this issuer: ${place} returned status ${response.status}`)
  }
  const found = await oauth.processDiscoveryResponse(issuer, response).catch((error: unknown) => {
    const other = otherIssuer(error)
    throw other === undefined
      ? error
      : new ProviderRefusedError(`the OpenID provider's issuer is ${other}, not ${issuer.href}`)
  })
  const algorithms = found.id_token_signing_alg_values_supported
  if (Array.isArray(algorithms) && algorithms.every((name) => /^(HS\d+|none)$/.test(String(name)))) {
    throw new ProviderRefusedError(
      `the OpenID provider has no key to sign ID tokens with: id_token_signing_alg_values_supported is ${algorithms}`,
    )
  }
  return found
}

function otherIssuer(error: unknown): string | undefined {
  if (!(error instanceof oauth.OperationProcessingError) || error.code !== oauth.JSON_ATTRIBUTE_COMPARISON) return
  return String((error.cause as { body: { issuer: unknown } }).body.issuer).slice(0, maxIssuerLength)
}
