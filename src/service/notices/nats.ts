import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type NodeConnectionOptions, type Subscription } from '@nats-io/transport-node'
import type { FastifyBaseLogger } from 'fastify'
import type { Carrier } from './notices.ts'

const patienceMs = 5_000
const jobs = 'ebs.jobs'

/** NATS with a subject per user: an instance receives notifications only for the users it follows, and for jobs. */
export function natsCarrier(urls: string[], log: FastifyBaseLogger): Carrier {
  const instance = randomUUID()
  return {
    atOnce: 1000,
    remedy: 'the user of PULSE_URL must be allowed to publish and to subscribe to ebs.>',
    async open(receiver) {
      // Reconnecting is up to this service, because missed notifications must be made up for.
      const connection = await connect({
        ...optionsOf(urls),
        reconnect: false,
        pingInterval: patienceMs,
        maxPingOut: 2,
      })
      const subscriptions = new Map<string, Subscription>()
      const lost = connection.closed().then((err) => {
        if (err) log.warn({ err }, 'the connection for notices was lost')
      })
      /** Resolves once the server has received everything. Throws if the connection is lost, or silent for 5 s. */
      const flush = async () => {
        const late = sleep(patienceMs, undefined, { ref: false })
        const isSent = await Promise.race([connection.flush().then(() => true), lost, late])
        if (!isSent) throw new Error('the server of notices does not answer')
      }
      const listen = (subject: string, hear: (sender: string, text: string) => void) =>
        connection.subscribe(subject, {
          callback(err, message) {
            if (err) return log.warn({ err }, 'NATS refused a subscription for notices')
            const [sender = '', text = ''] = message.string().split(' ')
            hear(sender, text)
          },
        })
      listen(echoSubject(instance), (_, nonce) => receiver.echoed(nonce))
      listen(jobs, (sender) => sender !== instance && receiver.jobWaits())
      return {
        lost,
        async send(notices) {
          for (const notice of notices) {
            if (notice === 'job') connection.publish(jobs, instance)
            else connection.publish(userSubject(notice.userId), `${instance} ${notice.loginId ?? ''}`)
          }
          await flush()
        },
        async echo(nonce) {
          connection.publish(echoSubject(instance), `${instance} ${nonce}`)
          await flush()
        },
        async follow(userIds) {
          for (const userId of userIds) {
            if (subscriptions.has(userId)) continue
            const subscription = listen(userSubject(userId), (sender, loginId) => {
              if (sender === instance) return
              if (loginId === '') receiver.changed(userId)
              else receiver.ended(loginId)
            })
            subscriptions.set(userId, subscription)
          }
          await flush()
        },
        unfollow(userId) {
          subscriptions.get(userId)?.unsubscribe()
          subscriptions.delete(userId)
        },
        check: flush,
        close: () => connection.close(),
      }
    },
  }
}

function userSubject(userId: string): string {
  return `ebs.user.${userId}`
}

function echoSubject(instance: string): string {
  return `ebs.instance.${instance}`
}

/** The servers form one cluster, so they accept the same user. */
function optionsOf(urls: string[]): NodeConnectionOptions {
  const [first] = urls.map((url) => new URL(url))
  const [user, pass] = [first?.username, first?.password].map((part) => decodeURIComponent(part ?? ''))
  const servers = urls.map((url) => new URL(url).host)
  const common = { servers, name: 'encrypted-bookmark-sync', timeout: patienceMs, noAsyncTraces: true }
  const account = !user ? {} : pass ? { user, pass } : { token: user }
  return { ...common, ...account, ...(first?.protocol === 'tls:' && { tls: {} }) }
}
