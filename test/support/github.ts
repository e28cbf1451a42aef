import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { components } from '@octokit/openapi-types'
import type { Test } from 'tap'

export type Repository = components['schemas']['repository']
export type StarredRepository = components['schemas']['starred-repository']

/** A fake of the part of GitHub's REST API that lists stars. */
export interface GitHub {
  apiUrl: string
  /** Stars by the user's name in lower case, newest first. */
  stars: Map<string, StarredRepository[]>
  /** The user of each token. */
  tokens: Map<string, string>
  /** Replaces the next responses, one each. */
  answers: ((response: ServerResponse) => void)[]
  /** The API requests received. */
  requests: { path: string; status: number; isAuthorized: boolean }[]
  /** The addresses of the pictures that were requested. */
  pictures: string[]
}

export async function startGitHub(t: Test): Promise<GitHub> {
  const github: Omit<GitHub, 'apiUrl'> = {
    stars: new Map(),
    tokens: new Map(),
    answers: [],
    requests: [],
    pictures: [],
  }
  const server = createServer((request, response) => answer(github, request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  return { ...github, apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v3` }
}

/** A repository with only the fields that the API always has and that a client may read. */
export function repository(id: number, fields: Partial<Repository> = {}): Repository {
  const full_name = fields.full_name ?? `owner/repository-${id}`
  const owner = { login: 'owner', id: 1, avatar_url: 'https://avatars.example/u/1', type: 'User' }
  return {
    ...{ id, node_id: `R_${id}`, name: full_name.split('/')[1], full_name, private: false, fork: false },
    ...{ html_url: `https://github.example/${full_name}`, url: `https://api.github.example/repos/${full_name}` },
    ...{ description: `Number ${id}`, stargazers_count: 10 * id, language: 'TypeScript', owner },
    ...fields,
  } as Repository
}

export function starred(id: number, fields: Partial<Repository> = {}): StarredRepository {
  return { starred_at: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString(), repo: repository(id, fields) }
}

function answer(github: Omit<GitHub, 'apiUrl'>, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '', `http://${request.headers.host}`)
  const path = url.pathname.replace('/api/v3', '')
  if (path.startsWith('/avatars/')) {
    github.pictures.push(path)
    response.setHeader('content-type', 'image/svg+xml')
    return void response.end('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')
  }
  response.setHeader('access-control-allow-origin', '*')
  if (request.method === 'OPTIONS') {
    response.setHeader('access-control-allow-headers', 'Authorization, X-GitHub-Api-Version')
    response.writeHead(204).end()
    return
  }
  response.setHeader(
    'access-control-expose-headers',
    'ETag, Link, Retry-After, X-RateLimit-Remaining, X-RateLimit-Reset',
  )
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.setHeader('cache-control', 'public, max-age=60')
  const [, token] = /^Bearer (.*)$/.exec(request.headers.authorization ?? '') ?? []
  const owner = token === undefined ? undefined : github.tokens.get(token)
  response.once('finish', () =>
    github.requests.push({ path, status: response.statusCode, isAuthorized: token !== undefined }),
  )
  const other = github.answers.shift()
  if (other) return void other(response)
  const fail = (status: number, message: string) => response.writeHead(status).end(JSON.stringify({ message }))
  if (token !== undefined && owner === undefined) return void fail(401, 'Bad credentials')
  if (path === '/user') return void response.end(JSON.stringify({ login: owner }))
  const [, user = owner] = /^\/users\/([^/]+)\/starred$/.exec(path) ?? []
  const all = github.stars.get(user?.toLowerCase() ?? '')
  if (!all) return void fail(404, 'Not Found')
  const perPage = Number(url.searchParams.get('per_page') ?? 30)
  const page = Number(url.searchParams.get('page') ?? 1)
  const stars = all.slice((page - 1) * perPage, page * perPage)
  const last = Math.max(1, Math.ceil(all.length / perPage))
  const linkTo = (page: number, rel: string) => {
    url.searchParams.set('page', `${page}`)
    return `<${url}>; rel="${rel}"`
  }
  if (page < last) response.setHeader('link', [linkTo(page + 1, 'next'), linkTo(last, 'last')].join(', '))
  const isDated = request.headers.accept === 'application/vnd.github.star+json'
  const content = JSON.stringify(isDated ? stars : stars.map(({ repo }) => repo))
  const tag = `W/"${createHash('sha256').update(content).digest('hex')}"`
  response.setHeader('etag', tag)
  if (request.headers['if-none-match'] === tag) response.writeHead(304).end()
  else response.end(content)
}
