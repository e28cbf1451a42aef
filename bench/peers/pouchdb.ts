import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../scripts/servers/free-port.ts'
import { makeOnce } from '../../scripts/servers/program.ts'
import type { Prepared, Server } from '../servers/service.ts'
import { runPeer } from './program.ts'

const packages = ['express-pouchdb@4.2.0', 'pouchdb@9.0.0', 'express@4']
const run = promisify(execFile)

/** The source of a PouchDB server on LevelDB. It does not sync commits to disk. */
const program = `import express from 'express'
import pouchdb from 'express-pouchdb'
import PouchDB from 'pouchdb'

const [folder, port] = process.argv.slice(2)
const options = { mode: 'minimumForPouchDB', inMemoryConfig: true, logPath: folder + '/log.txt' }
express().use(pouchdb(PouchDB.defaults({ prefix: folder + '/' }), options)).listen(Number(port), '127.0.0.1')
`

export async function preparePouchdb(root: string): Promise<Prepared> {
  const main = join(await makeOnce('pouchdb', 'Installing the PouchDB server', install), 'server.mjs')
  const folder = await mkdtemp(join(root, 'pouchdb-'))
  return { restart: () => start(main, folder), remove: () => rm(folder, { recursive: true, force: true }) }
}

async function start(main: string, folder: string): Promise<Server> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  return {
    ...(await runPeer([process.execPath, main, folder, `${port}`], origin)),
    origin,
    async newUser() {
      const user = `u${randomBytes(8).toString('hex')}`
      const answer = await fetch(`${origin}/${user}`, { method: 'PUT' })
      if (!answer.ok) throw new Error(`PUT /${user}: ${answer.status} ${await answer.text()}`)
      return { api: 'pouchdb', origin, user, headers: {} }
    },
  }
}

async function install(folder: string): Promise<string> {
  await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages])
  await writeFile(join(folder, 'server.mjs'), program)
  return folder
}
