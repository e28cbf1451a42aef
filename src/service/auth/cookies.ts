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

const paths = {
  service_session: '/',
  service_refresh: '/api/v1/auth',
  service_login: '/api/v1/auth',
  '__Host-service_login': '/',
} as const
export const sessionSeconds = 604_800
export const refreshSeconds = 2_592_000
export const loginSeconds = 600

export function sessionCookie(config: CookieConfig, token: string): Cookie {
  return cookie(config, 'service_session', token, sessionSeconds)
}

export function refreshCookie(config: CookieConfig, token: string): Cookie {
  return cookie(config, 'service_refresh', token, refreshSeconds)
}

export function loginCookie(config: CookieConfig, attempts: string): Cookie {
  return cookie(config, loginCookieName(config), attempts, loginSeconds)
}

/** A cookie with the prefix cannot be set by other hosts of the domain; browsers take it over https alone. */
export function loginCookieName({ secureCookies }: CookieConfig): LoginCookieName {
  return secureCookies ? '__Host-service_login' : 'service_login'
}

export function clearedCookies(config: CookieConfig): Cookie[] {
  return [cookie(config, 'service_session', '', 0), cookie(config, 'service_refresh', '', 0)]
}

function cookie(config: CookieConfig, name: CookieName, value: string, maxAge: number): Cookie {
  // Sign-in attempts belong only to the host that completes them, whatever the domain of the session.
  const domain = name === loginCookieName(config) ? undefined : config.cookieDomain
  const options: CookieSerializeOptions = {
    path: paths[name],
    maxAge,
    httpOnly: true,
    sameSite: 'lax',
    secure: config.secureCookies,
  }
  return { name, value, options: domain ? { ...options, domain } : options }
}
