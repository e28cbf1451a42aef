import t from 'tap'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { refreshCookie, sessionCookie } from '../../src/service/auth/cookies.ts'

t.test('The cookies have the attributes that the contract lists as data', async (t) => {
  const { sessionCookie: session, refreshCookie: refresh } = openapi.components.securitySchemes
  const over = (secureCookies: boolean) =>
    [sessionCookie, refreshCookie].map((make) => make({ cookieDomain: undefined, secureCookies }, 'token'))
  const listed = [session, refresh].map(({ name, 'x-cookie': { secure: _, sameSite, ...attributes } }) => {
    return { name, options: { ...attributes, sameSite: sameSite.toLowerCase() } }
  })
  const withSecure = (secure: boolean) =>
    listed.map(({ name, options }) => ({ name, value: 'token', options: { ...options, secure } }))
  t.same([over(true), over(false)], [withSecure(true), withSecure(false)])
})
