import * as oauth from 'oauth4webapi'

/** Sends a request with the client's secret in one way and, if the provider refuses that, in the other. */
export type SecretSender = (
  methods: readonly string[] | undefined,
  send: (authentication: oauth.ClientAuth) => Promise<Response>,
) => Promise<Response>

type Method = 'client_secret_basic' | 'client_secret_post'

/**
 * Metadata lists what a provider can take, but some (Authelia, Ory Hydra) take from each client only the method
 * that it was registered with. One that was taken is tried first from then on.
 */
export function sendsSecret(secret: string): SecretSender {
  const authentications: Record<Method, oauth.ClientAuth> = {
    client_secret_basic: basic(secret),
    client_secret_post: oauth.ClientSecretPost(secret),
  }
  let order: Method[] = ['client_secret_basic', 'client_secret_post']

  return async (methods, send) => {
    const listed = order.filter((method) => methods?.includes(method) ?? true)
    const [first = 'client_secret_basic', other] = listed
    const response = await send(authentications[first])
    if (other === undefined || !(await isClientRefused(response))) return response
    const second = await send(authentications[other])
    if (await isClientRefused(second)) return response
    order = [other, first]
    return second
  }
}

/**
 * RFC 6749, section 2.3.1, coding no more than it takes: Pocket ID and Kanidm decoded nothing before 2026, and looked for
 * the client `my%2Dclient` that the library would send.
 */
function basic(secret: string): oauth.ClientAuth {
  return (_server, client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${formEncode(client.client_id)}:${formEncode(secret)}`)}`)
  }
}

function formEncode(value: string): string {
  return encodeURIComponent(value).replaceAll('%20', '+')
}

/** Before it has looked at the code or token of the request. Keycloak says unauthorized_client to a wrong secret. */
async function isClientRefused(response: Response): Promise<boolean> {
  if (response.status === 401) return true
  if (response.status !== 400) return false
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  const { error } = (body ?? {}) as { error?: unknown }
  return error === 'invalid_client' || error === 'unauthorized_client'
}
