import { randomUUID } from 'node:crypto'
import cookie from '@fastify/cookie'
import websocket from '@fastify/websocket'
import fastify, { type FastifyInstance, LogController } from 'fastify'
import { maxMessageBytes } from '../../generated/channel.ts'
import { quotas } from '../../generated/limits.ts'
import type { Context } from './context.ts'
import { validatorCompiler } from './contract/validation.ts'
import { registerProbes } from './http/admin.ts'
import { registerAdmission } from './http/admission.ts'
import { bindOperations } from './http/bind.ts'
import { watchConnections } from './http/connections.ts'
import { answerClientErrors, registerErrors, routeMalformedUrl } from './http/errors.ts'
import { registerHeads, responseHeaders } from './http/head.ts'
import { maxHeadBytes } from './http/overflow.ts'
import { notFoundPage, registerPages } from './http/pages.ts'
import { isRealtimeUpgrade } from './http/realtime.ts'
import { registerRequests } from './http/requests.ts'
import { serializerCompiler } from './http/responses.ts'
import { createTrust } from './load/addresses.ts'
import { accountOperations } from './operations/account.ts'
import { authOperations } from './operations/auth.ts'
import { bookmarkOperations } from './operations/bookmarks.ts'
import { deviceOperations } from './operations/devices.ts'
import { exportOperations } from './operations/exports.ts'
import { healthOperations } from './operations/health.ts'
import { historyOperations } from './operations/history.ts'
import { keyOperations } from './operations/keys.ts'
import { pairingOperations } from './operations/pairings.ts'
import { sessionOperations } from './operations/sessions.ts'
import { syncOperations } from './operations/sync.ts'

/** Lets an overlong id reach its operation, which answers 404. */
const maxParamLength = maxHeadBytes

/** Builds the HTTP server without opening a port. Requests pass through the registrations from top to bottom. */
export async function createApp(context: Context): Promise<FastifyInstance> {
  const { config, log, hub } = context
  const trust = createTrust(config.trustProxy)
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    trustProxy: config.trustProxy !== false && trust,
    bodyLimit: quotas.bodyBytes,
    requestTimeout: 120_000,
    forceCloseConnections: 'idle',
    // A request that arrives on an open connection while the service stops is served like any other.
    return503OnClosing: false,
    routerOptions: { maxParamLength },
    clientErrorHandler: answerClientErrors(responseHeaders(config)),
    frameworkErrors: (_error, request, reply) => routeMalformedUrl(app, request, reply),
    // Node does not require `Host`, so that http/head.ts answers a request without it.
    http: { shouldUpgradeCallback: isRealtimeUpgrade, requireHostHeader: false, maxHeaderSize: maxHeadBytes },
  })
  app.addHook('preClose', async () => context.health.drain())
  // Comes first: a request that a hook refuses must already be known as an upgrade, or its socket stays open.
  await app.register(websocket, {
    options: {
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      // Each message, ping and pong gets its own turn of the event loop, so that a flood over one socket does not stop
      // others.
      allowSynchronousEvents: false,
      // Fragments get no turns. 64 KiB of empty ones on each of 256 sockets blocked the loop for 235 ms; now for 31 ms.
      maxFragments: 1000,
    },
    preClose: (done) => void hub.close().then(() => app.websocketServer.close(() => done())),
  })
  watchConnections(app, trust)
  registerErrors(app, context, notFoundPage(config))
  registerRequests(app, context, trust)
  await registerHeads(app, config)
  registerAdmission(app, log)
  // Only sets cookies. auth/sessions.ts parses them, because it has to try several cookies of the same name.
  await app.register(cookie, { hook: false })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  registerProbes(app, context)
  await registerPages(app, config)
  bindOperations(app, context, {
    ...authOperations,
    ...bookmarkOperations,
    ...syncOperations,
    ...exportOperations,
    ...accountOperations,
    ...keyOperations,
    ...pairingOperations,
    ...sessionOperations,
    ...deviceOperations,
    ...healthOperations,
    ...historyOperations,
  })
  return app
}
