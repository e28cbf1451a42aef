/** Who may not sign in reads why on the page, and gets in with another account. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser } from '../support/browser.ts'
import { isDeep } from '../support/depth.ts'
import { callsTo, folder, startService } from '../support/service.ts'
import { answerProvider, developmentProvider, openChromium, openContext } from './fixture.ts'

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  const advice = 'Ask the operator of this service, or sign in with another account.'

  // The service answers the same for both (test/auth/access.test.ts), and story.test.ts has what the page says then.
  const rules = [{ OIDC_ALLOWED_DOMAINS: 'example.org' }, { OIDC_REQUIRED_CLAIM: 'groups=bookmarks' }]
  for (const rule of isDeep ? rules : [])
    t.test(`${Object.keys(rule)}: the page says so, and whom to ask`, async (t) => {
      const origin = await serve(t, await folder(t), { ...rule, ...(await developmentProvider()) })
      const page = await (await openContext(t, browser)).newPage()
      await refused(t, page, origin, 'Eve', `This account may not use this service. ${advice}`)
    })

  t.test('SIGN_UP=closed: the page says so; who is a user already gets in from there', async (t) => {
    const [data, provider] = [await folder(t), await developmentProvider()]
    await t.test('before', async (t) => {
      const origin = await serve(t, data, provider)
      await openBrowser(callsTo(origin)).signIn('Ada')
    })
    const origin = await serve(t, data, { SIGN_UP: 'closed', ...provider })
    const page = await (await openContext(t, browser)).newPage()
    await refused(t, page, origin, 'Eve', `This service takes no new users. ${advice}`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await answerProvider(page, 'Ada')
    await page.getByLabel('New passphrase').waitFor()
  })
}

async function serve(t: Test, data: string, settings: Record<string, string>): Promise<string> {
  return (await startService(t, data, { SERVE_APP: 'true', ...settings })).origin
}

/** The whole way that a person goes, and what is read at its end. */
async function refused(t: Test, page: Page, origin: string, name: string, text: string) {
  await page.goto(origin)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await answerProvider(page, name)
  t.equal(await page.getByRole('alert').textContent(), text)
}
