import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { createAdminApp } from '../../src/service/http/admin.ts'
import type { TestApp } from './app.ts'
import { type Exposition, parseExposition } from './exposition.ts'

export interface TestAdmin {
  admin: FastifyInstance
  /** The parsed response of `/metrics`. */
  scrape(): Promise<Exposition>
  /** Scrapes until the condition holds. */
  scrapeUntil(holds: (metrics: Exposition) => boolean): Promise<Exposition>
}

/** The service's admin listener, without a port. */
export function openAdmin(t: Test, { context }: Pick<TestApp, 'context'>): TestAdmin {
  const admin = createAdminApp(context)
  t.teardown(() => admin.close())
  const scrape = async () => {
    const { statusCode, headers, body } = await admin.inject('/metrics')
    assert.equal(statusCode, 200)
    assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    return parseExposition(body)
  }
  return {
    admin,
    scrape,
    async scrapeUntil(holds) {
      for (;;) {
        const metrics = await scrape()
        if (holds(metrics)) return metrics
        await sleep(25)
      }
    },
  }
}
