import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Agent, request } from 'undici'
import { v7 as uuidv7 } from 'uuid'
import { createApp } from '../../../src/app.ts'
import { signIn } from '../../../src/auth/sign-in.ts'
import { readConfig } from '../../../src/config/config.ts'
import { openContext } from '../../../src/context.ts'
import type { Schemas } from '../../../src/contract/schemas.ts'
import { freePort } from '../servers/free-port.ts'

const person = { issuer: 'bench', subject: 'bench', email: '', name: '', avatar_url: '', email_verified: false }

/** As if it had been started in a browser and just completed. */
const attempt = () => ({ nonce: uuidv7(), expiresAt: Date.now() })

/** The service on a temporary folder, with one person signed in. */
export async function startBenchService() {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-bench-'))
  const provider = { OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'bench', OIDC_CLIENT_SECRET: 'bench' }
  const port = await freePort()
  const limits = { RATE_LIMIT_PER_MINUTE: '1000000000' }
  const config = readConfig({ ...provider, ...limits, DATA_DIR: folder, SERVE_DEMO: 'false', PORT: `${port}` })
  const context = await openContext(config, { log: pino({ level: 'silent' }) })
  const app = await createApp(context)
  const origin = await app.listen({ host: '127.0.0.1', port })
  const { session } = await signIn(context, person, null, attempt(), '')
  const dispatcher = new Agent({ connections: 64 })
  return {
    origin,
    /** The session cookie of somebody who has no bookmarks yet. */
    async newSession() {
      return (await signIn(context, { ...person, subject: uuidv7() }, null, attempt(), '')).session
    },
    async call(method: 'GET' | 'POST', path: string, body?: object) {
      const headers = { cookie: `service_session=${session}`, 'content-type': 'application/json' }
      const payload = body === undefined ? null : JSON.stringify(body)
      const answer = await request(origin + path, { method, headers, body: payload, dispatcher })
      if (answer.statusCode > 299)
        throw new Error(`${method} ${path}: ${answer.statusCode} ${await answer.body.text()}`)
      return (await answer.body.json()) as Schemas['PullResponse']
    },
    change(encrypted_data: string): Schemas['Change'] {
      const own = { id: uuidv7(), entity_id: uuidv7(), timestamp: Date.now(), device_id: 'bench' }
      return { ...own, entity_type: 'bookmark', operation: 'create', encrypted_data, data_hash: 'h'.repeat(64) }
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.close()
      await app.close()
      await context.close()
      await rm(folder, { recursive: true })
    },
  }
}
