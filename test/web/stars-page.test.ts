import t from 'tap'
import { readConfig } from '../../src/service/config/config.ts'
import { ConfigError } from '../../src/service/config/values.ts'
import { isDeep } from '../support/depth.ts'
import { starred, startGitHub } from '../support/github.ts'
import { folder, startService } from '../support/service.ts'
import { developmentProvider, enterVault, live, openChromium, openContext, openVault, show, signIn } from './fixture.ts'

t.test('GITHUB_API_URL sets the one host for stars, or turns the feature off', async (t) => {
  t.equal(readConfig({}).githubApiUrl, 'https://api.github.com')
  t.equal(readConfig({ GITHUB_API_URL: ' ' }).githubApiUrl, undefined)
  t.equal(readConfig({ GITHUB_API_URL: 'https://git.example/api/v3/' }).githubApiUrl, 'https://git.example/api/v3')
  for (const value of [
    'git.example',
    'ftp://git.example',
    'https://a:b@git.example',
    'https://git.example/?x',
    'x y',
    'https://*',
    "https://a$'b",
    "https://a;script-src'",
  ]) {
    t.throws(() => readConfig({ GITHUB_API_URL: value }), ConfigError, value)
  }
})

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  t.test('Stars are imported from GitHub into the page, and reach another device', async (t) => {
    const github = await startGitHub(t)
    const start = async (GITHUB_API_URL: string) =>
      startService(t, await folder(t), { SERVE_APP: 'true', GITHUB_API_URL, ...(await developmentProvider()) })
    const { origin } = await start(github.apiUrl)
    const policy = (await fetch(origin)).headers.get('content-security-policy') ?? ''
    const host = new URL(github.apiUrl).origin
    for (const directive of [`connect-src 'self' ${host};`, `img-src 'self' ${host} data:;`])
      t.match(policy, directive, 'the page may connect to this host and no other')
    const without = await start('')
    const policyWithout = (await fetch(without.origin)).headers.get('content-security-policy') ?? ''
    for (const directive of [/connect-src 'self';/, /img-src 'self' data:;/]) t.match(policyWithout, directive)
    t.equal((await fetch(`${without.origin}/demo/github.json`)).status, 404)

    // test/web/stars.test.ts imports stars without a page.
    if (!isDeep) return
    const expected = /404|403/
    const laptop = await (await openContext(t, browser, {}, expected)).newPage()
    const code = await enterVault(laptop, origin, 'Ada')
    await show(laptop, 'stars')
    const press = (name: string | RegExp) => laptop.getByRole('button', { name, exact: true }).click()
    const says = (text: string) => laptop.getByText(text).waitFor()
    const fetchStars = async (user: string, token = '') => {
      await press('Get stars from GitHub…')
      await laptop.getByLabel('GitHub user name').fill(user)
      await laptop.getByLabel(/token/).fill(token)
      await press('Get stars')
    }
    await fetchStars('nobody')
    await says('GitHub knows no user of this name.')

    const all = Array.from({ length: 130 }, (_, index) => starred(130 - index))
    all[0] = starred(130, { full_name: 'newest/of-all', language: 'Rust', stargazers_count: 1 })
    const owner = (name: string) => ({ ...starred(1).repo.owner, avatar_url: `${host}/avatars/${name}` })
    all[1] = starred(129, { owner: owner('shown') })
    github.stars.set('ada', all)
    await fetchStars('ada')
    await says('130 stars read: 130 new, 0 changed.')
    await laptop.getByRole('link', { name: 'newest/of-all' }).waitFor()
    await laptop.getByRole('combobox', { name: 'Language' }).selectOption('Rust')
    const other = laptop.getByRole('link', { name: 'owner/repository-129' })
    await other.waitFor({ state: 'detached' })
    await laptop.getByRole('combobox', { name: 'Language' }).selectOption('')
    await other.waitFor()
    await says('★ 1,290')
    await live(laptop)

    const allows = laptop.getByRole('checkbox', { name: 'Show the owners’ pictures.' })
    const picture = laptop.locator(`img[src="${host}/avatars/shown"]`)
    t.same([await picture.count(), github.pictures], [0, []], 'no picture is requested before that')
    await allows.check()
    await picture.waitFor()
    await laptop.waitForFunction(() => [...document.images].every(({ complete }) => complete))
    t.ok(github.pictures.includes('/avatars/shown'))
    await allows.uncheck()
    await picture.waitFor({ state: 'detached' })

    await fetchStars('ADA')
    await says('130 stars read: 0 new, 0 changed.')
    t.same(
      github.requests.slice(-2).map(({ status }) => status),
      [200, 200],
      "nothing is left in the browser's cache",
    )

    github.answers.push((response) => {
      const reset = Math.ceil(Date.now() / 1000) + 3000
      response.writeHead(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${reset}` }).end('{}')
    })
    await fetchStars('ada')
    await says('GitHub’s hourly limit is reached.')
    await press('Cancel')
    await says('You stopped it before the end.')

    github.stars.set('ada', all.slice(2))
    github.tokens.set('private', 'ada')
    await fetchStars('ada', 'private')
    await press('2 stars are gone…')
    await laptop.getByRole('dialog').getByText('newest/of-all').waitFor()
    await press('Delete 2 stars')
    await laptop.getByRole('link', { name: 'newest/of-all' }).waitFor({ state: 'detached' })
    const stored = await laptop.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
    t.notMatch(stored, 'private', 'the token is not kept')
    await live(laptop)
    await show(laptop, 'folder')
    await says('No bookmarks yet')

    const phone = await (await openContext(t, browser)).newPage()
    await signIn(phone, origin, 'Ada')
    await openVault(phone, code)
    await show(phone, 'stars')
    await phone.getByRole('link', { name: 'owner/repository-128' }).waitFor()
  })
}
