import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import pg from 'pg'
import type { Carrier, Notice } from './notices.ts'

const channel = 'ebs_pulse'
/** Prefix of test notifications, which other instances ignore. */
const echo = 'n'
const job = 'j'

/**
 * LISTEN and NOTIFY on a separate connection: a NOTIFY within a write's transaction would take a lock that all writers
 * share. Each instance gets the notifications of all users.
 */
export function postgresCarrier(url: string, log: FastifyBaseLogger): Carrier {
  const instance = randomUUID()
  return {
    /** A payload holds up to 8,000 bytes, and each notification is a letter and an id of 36 characters. */
    atOnce: 150,
    remedy: 'behind a pooler, PULSE_DATABASE_URL must name a direct connection to the database',
    async open(receiver) {
      const client = new pg.Client({
        connectionString: url,
        application_name: 'encrypted-bookmark-sync pulse',
        keepAlive: true,
        connectionTimeoutMillis: 5_000,
        query_timeout: 5_000,
      })
      const lost = new Promise<void>((resolve) => client.once('end', resolve))
      const notify = (items: string[]) =>
        client.query('SELECT pg_notify($1, $2)', [channel, [instance, ...items].join(' ')])
      client.on('error', (err) => log.warn({ err }, 'the connection for notices was lost'))
      client.on('notification', ({ payload = '' }) => {
        const [sender, ...items] = payload.split(' ')
        for (const item of items) {
          const id = item.slice(1)
          if (sender === instance) receiver.echoed(id)
          else if (item[0] === 'c') receiver.changed(id)
          else if (item[0] === 'e') receiver.ended(id)
          else if (item === job) receiver.jobWaits()
        }
      })
      const close = () => {
        client.removeAllListeners('notification')
        return client.end()
      }
      try {
        await client.connect()
        await client.query(`LISTEN ${channel}`)
      } catch (error) {
        await close().catch(() => {})
        throw error
      }
      return {
        lost,
        send: (notices) => notify(notices.map(itemOf)),
        echo: (nonce) => notify([`${echo}${nonce}`]),
        follow: async () => {},
        unfollow() {},
        check: () => client.query('SELECT 1'),
        close,
      }
    },
  }
}

function itemOf(notice: Notice): string {
  if (notice === 'job') return job
  return notice.loginId === undefined ? `c${notice.userId}` : `e${notice.loginId}`
}
