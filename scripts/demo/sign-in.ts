import { DomUtils, parseDocument } from 'htmlparser2'
import { operations } from '../../generated/operations.ts'
import type { Api } from './api.ts'
import type { Browser } from './browser.ts'

/** Signs in as a person would: opens the provider's page, types a name, and lets the redirects do the rest. */
export async function signIn(api: Api, browser: Browser, name: string): Promise<{ userId: string }> {
  const { authorizationUrl } = await api.call('startLogin', { body: { returnTo: '/' } })
  const page = await navigate(browser, new URL(authorizationUrl))
  const form = await findForm(page)
  for (const field of form.visibleFields) form.values.set(field, name)
  const landed = await navigate(browser, page.url, { method: 'POST', body: form.values })
  const returnedTo = landed.response.headers.get('location') ?? ''
  if (!isCallback(landed.url) || returnedTo !== '/') {
    throw new Error(`The sign-in ended at ${landed.url.origin}${landed.url.pathname} with ${returnedTo || 'a page'}`)
  }
  const { user } = await api.call('getSession')
  return { userId: user.user_id }
}

interface Page {
  url: URL
  response: Response
}

/** Follows redirects up to a page, or to the callback that ends a sign-in. */
async function navigate(browser: Browser, start: URL, request?: RequestInit): Promise<Page> {
  let page: Page = { url: start, response: await browser.fetch(start, request) }
  for (let hops = 0; hops < 10; hops++) {
    const location = page.response.headers.get('location')
    if (location === null || isCallback(page.url)) return page
    const url = new URL(location, page.url)
    page = { url, response: await browser.fetch(url) }
  }
  throw new Error(`Too many redirects, the last one to ${page.url.origin}${page.url.pathname}`)
}

function isCallback({ pathname }: URL): boolean {
  return pathname === operations.completeLogin.path
}

async function findForm({ url, response }: Page): Promise<{ values: URLSearchParams; visibleFields: string[] }> {
  const document = parseDocument(await response.text())
  const form = DomUtils.findOne(({ name }) => name === 'form', document.children)
  const inputs = form ? DomUtils.getElementsByTagName('input', form).map(({ attribs }) => attribs) : []
  if (inputs.some(({ type }) => type === 'password'))
    throw new Error(`${url.origin} wants a password: not the development provider`)
  const visible = inputs.filter(({ type }) => type !== 'hidden')
  if (visible.length === 0) throw new Error(`There is nothing to type on ${url.origin}${url.pathname}`)
  const hidden = inputs.filter(({ type }) => type === 'hidden').map(({ name = '', value = '' }) => [name, value])
  return { values: new URLSearchParams(hidden), visibleFields: visible.map(({ name = '' }) => name) }
}
