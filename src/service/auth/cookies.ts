import type { CookieSerializeOptions } from '@fastify/cookie'

export type CookieName = 'service_session' | 'service_refresh' | LoginCookieName

type LoginCookieName = 'service_login' | '__Host-service_login'

export interface CookieConfig {
  cookieDomain: string | undefined
  secureCookies: boolean
}

export interface Cookie {
  name: CookieName
  value: string
  options: CookieSerializeOptions
}

export const sessionSeconds = 604_800
export const refreshSeconds = 2_592_000
export const loginSeconds = 600
const kinds = {
  service_session: { path: '/', maxAge: sessionSeconds },
  service_refresh: { path: '/api/v1/auth', maxAge: refreshSeconds },
  service_login: { path: '/api/v1/auth', maxAge: loginSeconds },
  '__Host-service_login': { path: '/', maxAge: loginSeconds },
} as const

/** Other hosts of the domain cannot set a cookie with the prefix `__Host-`, which browsers accept only over HTTPS. */
export function loginCookieName({ secureCookies }: CookieConfig): LoginCookieName {
  return secureCookies ? '__Host-service_login' : 'service_login'
}

export function clearedCookies(config: CookieConfig): Cookie[] {
  return [cookie(config, 'service_session', '', 0), cookie(config, 'service_refresh', '', 0)]
}

export function cookie(config: CookieConfig, name: CookieName, value: string, maxAge?: number): Cookie {
  // Sign-in attempts belong to this host alone, whatever the session's domain.
  const domain = name === loginCookieName(config) ? undefined : config.cookieDomain
  const options: CookieSerializeOptions = {
    ...kinds[name],
    ...(maxAge !== undefined && { maxAge }),
    httpOnly: true,
    sameSite: 'lax',
    secure: config.secureCookies,
  }
  return { name, value, options: domain ? { ...options, domain } : options }
}
