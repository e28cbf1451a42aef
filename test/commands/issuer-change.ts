import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { examine } from '../../src/service/commands/doctor.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl } from '../support/database-url.ts'
import type { MockProvider } from '../support/providers.ts'
import { relyingParty, startMock } from '../support/relying-party.ts'
import { folder } from '../support/service.ts'

/** Two providers, and a service on one database that can be restarted at either. */
export async function openChange(t: Test) {
  const dataDir = await folder(t)
  const database = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  const [old, next] = [await startMock(t), await startMock(t)]
  let running: { app: TestApp; mock: MockProvider } | undefined
  const current = () => {
    if (!running) throw new Error('no service is running')
    return running
  }
  const newBrowser = () => openBrowser((...request) => current().app.call(...request))
  const settings = ({ issuer }: MockProvider) => ({
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: relyingParty.clientId,
    OIDC_CLIENT_SECRET: relyingParty.clientSecret,
  })
  return {
    old,
    next,
    dataDir,
    context: () => current().app.context,
    log: () => current().app.log.map((line) => JSON.parse(line)),
    setClock: (now: number) => current().app.setClock(now),
    async start(mock: MockProvider, env: Record<string, string> = {}) {
      await running?.app.close()
      running = { app: await buildApp(t, { ...settings(mock), ...env }, { dataDir }), mock }
      return running.app
    },
    /** Signs a person in at the running service's provider. */
    async signIn(sub: string, claims: Partial<MockProvider['person']> = {}, browser = newBrowser()) {
      current().mock.person = { sub, email: `${sub}@example.org`, email_verified: true, ...claims }
      const { headers } = await browser.signIn('', '/in')
      const { body } = await browser.call('GET', '/api/v1/auth/session')
      return { browser, location: headers.location, userId: body.user?.user_id as string, body }
    },
    doctor: async () =>
      (await examine({ ...database, ...settings(current().mock) })).filter(({ about }) => about === 'users'),
    async move(...args: string[]) {
      const words = ['move-issuer', old.issuer, next.issuer, ...args]
      const { code, stdout, stderr } = await runCommand(t, 'admin', words, { ...database, ...settings(next) })
      return { code, stdout, stderr }
    },
    async map(lines: string[]): Promise<string> {
      const path = join(dataDir, 'map.csv')
      await writeFile(path, `${lines.join('\n')}\n`)
      return path
    },
  }
}

export async function addBookmark({ call }: Pick<Browser, 'call'>): Promise<void> {
  const { status } = await call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'AAAA', data_hash: 'h' } })
  if (status !== 201) throw new Error(`the bookmark got ${status}`)
}

export async function countBookmarks({ call }: Pick<Browser, 'call'>): Promise<number> {
  return (await call('GET', '/api/v1/bookmarks')).body.meta.total
}
