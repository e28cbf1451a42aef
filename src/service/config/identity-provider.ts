import { requiredSecret } from './secret-value.ts'
import { ConfigError, type Env, optional, required, text } from './values.ts'

/** Undefined in development if no issuer is set: the embedded provider is used instead. */
export function identityProvider(env: Env, environment: string) {
  const issuer = optional(env, 'OIDC_ISSUER')
  if (issuer === undefined) {
    if (environment !== 'development') throw new ConfigError(`OIDC_ISSUER is required in ${environment}`)
    return undefined
  }
  const url = URL.parse(issuer)
  if (!url || !/^https?:$/.test(url.protocol)) throw new ConfigError('OIDC_ISSUER must be an http or https URL')
  if (url.protocol === 'http:' && environment !== 'development') {
    throw new ConfigError(`OIDC_ISSUER must be https in ${environment}`)
  }
  const scopes = text(env, 'OIDC_SCOPES', 'openid profile email offline_access')
  if (!scopes.split(' ').includes('openid')) throw new ConfigError('OIDC_SCOPES must include openid')
  return {
    issuer,
    clientId: required(env, 'OIDC_CLIENT_ID', 'OIDC_ISSUER'),
    clientSecret: requiredSecret(env, 'OIDC_CLIENT_SECRET', 'OIDC_ISSUER'),
    scopes,
  }
}
