import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { loginFailures } from '../../../generated/login-failures.ts'
import { isBundle } from '../bundle.ts'
import { ConfigError } from '../config/values.ts'

interface PagesConfig {
  publicUrl: string
  appUrl: string | undefined
  serveApp: boolean
  githubApiUrl: string | undefined
  environment: string
}

const contractFolder = isBundle ? fromHere('./') : fromHere('../../../')
/** `npm run build` writes this folder and `webFolder`. The bundle contains copies of both. */
const docsFolder = isBundle ? fromHere('docs/') : fromHere('../../../dist/docs/')
/** Exists while `npm start` builds the documents. */
const unfinishedDocs = fromHere('docs.part')
const webFolder = isBundle ? fromHere('web/') : fromHere('../../../dist/web/')
const serviceWorker = 'service-worker.js'
const redoc = 'redoc.standalone.js'

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.woff2': 'font/woff2',
  '.yaml': 'application/yaml; charset=utf-8',
}

/** Sends a file from a cache, because an open file would need a descriptor while a client reads slowly. */
function fileSender(
  folder: string,
  name: string,
  read: (path: string) => Promise<string | Buffer> = readFile,
): (reply: FastifyReply) => Promise<FastifyReply> {
  const kept = readOnce(() => read(join(folder, name)))
  const type = types[extname(name)]
  if (type === undefined) throw new Error(`${name} has no media type`)
  return async (reply) => reply.type(type).send(await kept())
}

/** The policy of documents: they load only resources of this service. */
const documentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
/** For `http.html`: Redoc, which shows the contract, sets styles by script, and searches in a worker. */
const referencePolicy = `${documentPolicy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")}; font-src 'self' data:; worker-src blob:`
/** The web page's policy. Argon2id needs WebAssembly. Only the page itself may frame it, to show a second device. */
const demoPolicy = documentPolicy
  .replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")
  .replace("frame-ancestors 'none'", "frame-src 'self'; frame-ancestors 'self'; manifest-src 'self'")
/** The web page's service worker loads the page's files to cache them. */
const workerPolicy = "default-src 'none'; connect-src 'self'"

/** Serves pages and documents in their own Fastify context, so that their hooks do not run for operations. */
export async function registerPages(app: FastifyInstance, config: PagesConfig): Promise<void> {
  await app.register(async (pages) => {
    if (config.environment === 'development') redirectToPublicUrl(pages, config.publicUrl)
    if (config.serveApp) await registerApp(pages, config)
    else registerPlainPages(pages)
    await registerDocuments(pages, config)
  })
}

/** Redirects a page from localhost or 127.0.0.1 to PUBLIC_URL, if that is the other: the two do not share cookies. */
function redirectToPublicUrl(app: FastifyInstance, publicUrl: string): void {
  const { host } = new URL(publicUrl)
  app.addHook('onRequest', (request, reply, next) => {
    const isPage = isForPerson(request)
    const isTwin = /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(request.host) && request.host !== host
    if (isPage && isTwin && /^(localhost|127\.0\.0\.1)(:|$)/.test(host)) reply.redirect(`${publicUrl}${request.url}`)
    else next()
  })
}

/** The origins of GitHub's API and of user pictures. An Enterprise server has both. */
function originsOf(apiUrl: string): { apiOrigin: string; picturesOrigin: string } {
  const { origin } = new URL(apiUrl)
  const isPublic = origin === 'https://api.github.com'
  return { apiOrigin: origin, picturesOrigin: isPublic ? 'https://avatars.githubusercontent.com' : origin }
}

/** The files that the web page loads. Throws if it is not built. */
export async function requireApp(): Promise<Set<string>> {
  const names = new Set(await builtFiles(webFolder))
  if (names.delete('index.html') && names.delete(serviceWorker)) return names
  throw new ConfigError('SERVE_APP: the web page is not built: run `npm run build`, or set SERVE_APP=false')
}

/** Serves the web page at `/`. A failed sign-in returns to `/login?error=`, where the page explains it. */
async function registerApp(app: FastifyInstance, { githubApiUrl: apiUrl }: PagesConfig): Promise<void> {
  const names = await requireApp()
  const github = apiUrl === undefined ? undefined : { apiUrl, ...originsOf(apiUrl) }
  const pageHeaders = {
    'content-security-policy': github
      ? demoPolicy
          .replace("connect-src 'self'", (own) => `${own} ${github.apiOrigin}`)
          // The policy is the same for everybody, so it includes this host even before a person allows pictures.
          .replace("img-src 'self'", (own) => `${own} ${github.picturesOrigin}`)
      : demoPolicy,
    'x-frame-options': 'SAMEORIGIN',
    // Otherwise the operator of a name server would learn the hosts of bookmarks as soon as a list is shown.
    'x-dns-prefetch-control': 'off',
  }
  const sendPage = fileSender(webFolder, 'index.html')
  for (const path of ['/', '/login']) app.get(path, (_request, reply) => sendPage(reply.headers(pageHeaders)))
  // The page is a file of the build, so it fetches this setting.
  if (github)
    app.get('/demo/github.json', (_request, reply) =>
      reply.header('cache-control', 'no-cache').send({ apiUrl, picturesOrigin: github.picturesOrigin }),
    )
  // Served from `/`, because a service worker controls only its own folder.
  const workerHeaders = { 'content-security-policy': workerPolicy, 'cache-control': 'no-cache' }
  const sendWorker = fileSender(webFolder, serviceWorker)
  app.get(`/${serviceWorker}`, (_request, reply) => sendWorker(reply.headers(workerHeaders)))
  for (const name of names) {
    const send = fileSender(webFolder, name)
    app.get(`/demo/${name}`, (_request, reply) => send(reply.header('cache-control', 'no-cache')))
  }
}

/** If no web page is served, `/` leads to the documents, and `/login` gives the reason of a failed sign-in. */
function registerPlainPages(app: FastifyInstance): void {
  app.get('/', (_request, reply) => reply.redirect('/docs'))
  app.get('/login', (request, reply) => {
    const { error } = request.query as { error?: unknown }
    // Shows no other text, because anybody can link to this address.
    const failure = Object.values(loginFailures).find((message) => message === error) ?? 'Not signed in'
    return reply.type('text/plain; charset=utf-8').send(`${failure}. Start again with POST /api/v1/auth/login.\n`)
  })
}

/** Serves the contract and the documents that `npm run build` has made. All assets are local. */
async function registerDocuments(app: FastifyInstance, config: PagesConfig): Promise<void> {
  for (const name of ['openapi.yaml', 'asyncapi.yaml']) {
    const send = fileSender(contractFolder, name)
    app.get(`/${name}`, (_request, reply) => send(reply))
  }
  let documents = await readDocuments(config)
  if (documents.size === 0 && !existsSync(unfinishedDocs))
    app.log.warn('the documents are not built, so /docs is empty: run `npm run build`')
  app.get('/docs', (_request, reply) => reply.redirect('/docs/'))
  const readNotFound = readOnce(() => readAsOurs(join(docsFolder, '404.html'), config))
  app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
    // `npm start` may build them while the service runs.
    if (documents.size === 0) documents = await readDocuments(config)
    if (documents.size === 0) return sendUnbuilt(reply)
    const path = request.params['*']
    const send = documents.get(path)
    if (send) return send(reply)
    // A person who follows an outdated link gets a helpful page.
    if (!isForPerson(request)) return reply.callNotFound()
    // The link may contain the file's name in the repository.
    const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/, '')
    if (name !== path && documents.has(name)) return reply.redirect(`/docs/${name}`)
    const page = await readNotFound()
    reply.headers({ 'cache-control': 'no-store', 'content-security-policy': documentPolicy })
    return reply.code(404).type('text/html; charset=utf-8').send(page)
  })
}

async function readDocuments(config: PagesConfig) {
  return new Map((await builtFiles(docsFolder)).flatMap((name) => documentsOf(name, config)))
}

/** Answers with the reason why there are no documents. */
function sendUnbuilt(reply: FastifyReply): FastifyReply {
  reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store')
  if (!existsSync(unfinishedDocs)) return reply.code(404).send('The documents are not built: run `npm run build`.\n')
  reply.code(503).headers({ refresh: '5', 'retry-after': '5' })
  return reply.send('The documents are being built. This page shows them as soon as they are there.\n')
}

/** True if a browser wants to show a page. Programs, and parts that pages load, get the contract's error. */
function isForPerson({ method, headers }: FastifyRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.accept?.includes('text/html') === true
}

const notFoundStyle =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}body{max-width:32rem;margin:15vh auto;padding:0 1rem}'
const notFoundPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(notFoundStyle).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
const notFoundWords = {
  en: {
    title: 'There is nothing here',
    text: 'The address is mistyped, or what was here is gone.',
    app: 'Open the bookmarks',
    help: 'Help',
    helpAt: '/docs/using',
  },
  de: {
    title: 'Hier ist nichts',
    text: 'Die Adresse ist falsch geschrieben, oder was hier war, gibt es nicht mehr.',
    app: 'Lesezeichen öffnen',
    help: 'Hilfe',
    helpAt: '/docs/de/using',
  },
}

/** A page for unknown addresses outside of the API. It does not repeat the address. */
export function notFoundPage({ appUrl, serveApp }: PagesConfig) {
  const app = appUrl ?? (serveApp ? '' : undefined)
  const pageIn = (language: keyof typeof notFoundWords) => {
    const { title, text, app: open, help, helpAt } = notFoundWords[language]
    const links = [...(app === undefined ? [] : [[`${app}/`, open]]), [helpAt, help]]
    const list = links.map(([to, name]) => `<li><a href="${to}">${name}</a></li>`).join('')
    return `<!doctype html><html lang="${language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${notFoundStyle}</style><main><h1>${title}</h1><p>${text}</p><ul>${list}</ul></main></html>\n`
  }
  const [english, german] = [pageIn('en'), pageIn('de')]
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined => {
    if (!isForPerson(request) || /^\/api(\/|\?|$)/.test(request.url)) return undefined
    const page = /^de\b/i.test(request.headers['accept-language'] ?? '') ? german : english
    reply.code(404).headers({ 'content-security-policy': notFoundPolicy, vary: 'Origin, Accept, Accept-Language' })
    return reply.type('text/html; charset=utf-8').send(page)
  }
}

/** The paths of a file below `/docs/` (two of a page, one without `.html`), and the function that sends it. */
function documentsOf(name: string, config: PagesConfig) {
  const extension = extname(name)
  const isPage = extension === '.html'
  // Names in `assets/` change with their content, and Redoc rarely changes.
  const isLasting = name === redoc || name.startsWith('assets/')
  const headers = {
    'cache-control': isLasting ? 'public, max-age=3600' : 'no-cache',
    ...(isPage && { 'content-security-policy': name === 'http.html' ? referencePolicy : documentPolicy }),
  }
  const namesService = name !== redoc && ['.html', '.json', '.js'].includes(extension)
  const sendFile = fileSender(docsFolder, name, namesService ? (path) => readAsOurs(path, config) : undefined)
  const send = (reply: FastifyReply) => sendFile(reply.headers(headers))
  const page = isPage ? [name === 'index.html' ? '' : name.slice(0, -5)] : []
  return [name, ...page].map((path) => [path, send] as const)
}

/** Replaces the address in samples with this service's, and adds a link to its web app to each page. */
async function readAsOurs(file: string, { publicUrl, appUrl, serveApp }: PagesConfig): Promise<string> {
  const app = appUrl ?? (serveApp ? publicUrl : undefined)
  const text = (await readFile(file, 'utf8'))
    .replaceAll('http://127.0.0.1:3000', publicUrl)
    .replaceAll('ws://127.0.0.1:3000', publicUrl.replace('http', 'ws'))
  if (app === undefined || extname(file) !== '.html') return text
  const words = text.includes('<html lang="de"') ? 'Zur App' : 'Open the app'
  return text.replace('<!-- the link to the app -->', `<a class="app" href="${app}/">${words}</a>`)
}

/** Reads at the first call and caches the result. After a failure, the next call reads again. */
export function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let kept: Promise<T> | undefined
  return () => {
    kept ??= read().catch((error) => {
      kept = undefined
      throw error
    })
    return kept
  }
}

function fromHere(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url))
}

/** The paths of built files. Only these are served, so that no other file on the disk can be requested. */
async function builtFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
}
