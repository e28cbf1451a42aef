import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../scripts/servers/free-port.ts'
import { makeOnce } from '../../scripts/servers/program.ts'
import type { Prepared, Server } from '../servers/service.ts'
import type { Account } from '../worker/apis.ts'
import { runPeer } from './program.ts'

const version = 'v0.36.8'
const run = promisify(execFile)
const [email, password] = ['bench@example.org', randomBytes(12).toString('hex')]

/** The Go source of a PocketBase that syncs each commit to disk, as the service does. */
const program = `package main

import (
	"log"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
)

const pragmas = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-64000)"

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{
		DBConnect: func(path string) (*dbx.DB, error) { return dbx.Open("sqlite", path+pragmas) },
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}
`
const rule = 'user = @request.auth.id'
const bookmarks = {
  name: 'bookmarks',
  type: 'base',
  fields: [
    { name: 'user', type: 'text' },
    { name: 'data', type: 'text', max: 300_000 },
    { name: 'hash', type: 'text' },
    { name: 'device', type: 'text' },
    { name: 'time', type: 'number' },
    { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
  ],
  indexes: ['CREATE INDEX bookmarks_user ON bookmarks (user, updated)'],
  ...{ listRule: rule, viewRule: rule, createRule: rule, updateRule: rule },
}
const settings = { batch: { enabled: true, maxRequests: 10_000, timeout: 60 }, logs: { maxDays: 0 } }

export async function preparePocketbase(root: string): Promise<Prepared> {
  const binary = await makeOnce(`pocketbase-${version}`, 'Building PocketBase', build)
  const folder = await mkdtemp(join(root, 'pocketbase-'))
  await run(binary, ['superuser', 'upsert', email, password, '--dir', folder])
  const restart = () => start(binary, folder)
  const server = await restart()
  const headers = await signIn(server.origin, '_superusers', email)
  await call(server.origin, 'POST', '/api/collections', bookmarks, headers)
  await call(server.origin, 'PATCH', '/api/settings', settings, headers)
  await server.close()
  return { restart, remove: () => rm(folder, { recursive: true, force: true }) }
}

async function start(binary: string, folder: string): Promise<Server> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const command = [binary, 'serve', '--dir', folder, '--http', `127.0.0.1:${port}`] as const
  return { ...(await runPeer(command, `${origin}/api/health`)), origin, newUser: () => newUser(origin) }
}

async function newUser(origin: string): Promise<Account> {
  const own = `${randomBytes(8).toString('hex')}@example.org`
  const superuser = await signIn(origin, '_superusers', email)
  const user = { email: own, password, passwordConfirm: password }
  const { id } = await call(origin, 'POST', '/api/collections/users/records', user, superuser)
  return { api: 'pocketbase', origin, user: id, headers: await signIn(origin, 'users', own) }
}

async function signIn(origin: string, collection: string, identity: string): Promise<Record<string, string>> {
  const path = `/api/collections/${collection}/auth-with-password`
  const { token } = await call(origin, 'POST', path, { identity, password }, {})
  return { authorization: token }
}

async function call(origin: string, method: string, path: string, body: object, headers: Record<string, string>) {
  const json = { ...headers, 'content-type': 'application/json' }
  const answer = await fetch(origin + path, { method, headers: json, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json() as Promise<{ id: string; token: string }>
}

async function build(folder: string): Promise<string> {
  await writeFile(join(folder, 'main.go'), program)
  await run('go', ['mod', 'init', 'pocketbase-full'], { cwd: folder })
  await run('go', ['get', `github.com/pocketbase/pocketbase@${version}`], { cwd: folder })
  await run('go', ['build', '-mod=mod', '-o', 'pocketbase'], { cwd: folder })
  return join(folder, 'pocketbase')
}
