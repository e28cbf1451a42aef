import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { freePort } from '../scripts/servers/free-port.ts'
import { createApp } from '../src/service/app.ts'
import { signIn } from '../src/service/auth/sign-in.ts'
import { readConfig } from '../src/service/config/config.ts'
import { openContext } from '../src/service/context.ts'

const profile = { issuer: 'bench', email: '', name: '', avatar_url: '', email_verified: false }

/** The service on a temporary folder. */
export async function startBenchService() {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-bench-'))
  const provider = { OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'bench', OIDC_CLIENT_SECRET: 'bench' }
  const port = await freePort()
  const limits = { RATE_LIMIT_PER_MINUTE: '1000000000' }
  const config = readConfig({ ...provider, ...limits, DATA_DIR: folder, SERVE_APP: 'false', PORT: `${port}` })
  const context = await openContext(config, { log: pino({ level: 'silent' }) })
  const app = await createApp(context)
  const origin = await app.listen({ host: '127.0.0.1', port })
  return {
    origin,
    /** The session cookie of somebody who has no bookmarks yet. */
    async newSession() {
      // As if it had been started in a browser and just completed.
      const attempt = { nonce: uuidv7(), expiresAt: Date.now() }
      const identity = { ...profile, subject: uuidv7() }
      return (await signIn(context, { identity, refreshToken: null, authenticatedMsAgo: null }, attempt, '')).session
    },
    async [Symbol.asyncDispose]() {
      await app.close()
      await context.close()
      await rm(folder, { recursive: true })
    },
  }
}
