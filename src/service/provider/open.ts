import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { issuerOf } from './issuer.ts'
import { openProvider } from './openid.ts'
import type { Provider } from './provider.ts'

/** The configured provider; in development, if there is none, an embedded one that only asks for a name. */
export async function openIdentityProvider(config: Config): Promise<Provider> {
  const redirectUri = `${config.publicUrl}/api/v1/auth/callback`
  const common = {
    redirectUri,
    allowHttp: config.environment === 'development',
    requiredClaim: config.access.requiredClaim?.name,
  }
  if (config.identityProvider) return openProvider({ ...config.identityProvider, ...common })

  const client = { clientId: 'encrypted-bookmark-sync', clientSecret: randomBytes(32).toString('base64url') }
  const embedded = await startEmbedded(config, { ...client, redirectUri })
  const scopes = 'openid profile email offline_access'
  const proxies = { http: undefined, https: undefined, none: undefined }
  const provider = openProvider({
    ...client,
    issuer: embedded.issuer,
    place: embedded.origin,
    scopes,
    proxies,
    ...common,
  })
  return {
    ...provider,
    async authorizationUrl(...asked) {
      // Loads the provider first, so that this does not count against a call's time limit.
      await embedded.load()
      return provider.authorizationUrl(...asked)
    },
    // It is in this process, so there is nothing to probe.
    async probe() {},
    async close() {
      await provider.close()
      await embedded.close()
    },
  }
}

/** Imported on demand, because it uses a development dependency. */
async function startEmbedded(config: Config, client: { clientId: string; clientSecret: string; redirectUri: string }) {
  try {
    const { startDevelopmentProvider } = await import('./development/provider.ts')
    return await startDevelopmentProvider({
      ...client,
      port: config.developmentProviderPort,
      issuer: issuerOf(config),
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const port = config.developmentProviderPort
    if (code === 'ERR_MODULE_NOT_FOUND') {
      throw new ConfigError('OIDC_ISSUER is required here: the development provider is not installed')
    }
    if (code === 'EADDRINUSE') throw new ConfigError(`DEV_IDP_PORT: port ${port} is in use: set another`)
    throw code === undefined ? error : new ConfigError(`DEV_IDP_PORT: cannot listen on port ${port} (${message})`)
  }
}
