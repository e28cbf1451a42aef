import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../scripts/servers/free-port.ts'
import { cacheFolder } from '../../scripts/servers/program.ts'
import type { Prepared, Server } from '../servers/service.ts'
import { runProgram } from './program.ts'

const packages = ['express-pouchdb@4.2.0', 'pouchdb@9.0.0', 'express@4']
const run = promisify(execFile)

/** The PouchDB server on LevelDB, which does not sync to disk. */
const program = `import express from 'express'
import pouchdb from 'express-pouchdb'
import PouchDB from 'pouchdb'

const [folder, port] = process.argv.slice(2)
const options = { mode: 'minimumForPouchDB', inMemoryConfig: true, logPath: folder + '/log.txt' }
express().use(pouchdb(PouchDB.defaults({ prefix: folder + '/' }), options)).listen(Number(port), '127.0.0.1')
`

export async function preparePouchdb(root: string): Promise<Prepared> {
  const main = await findProgram()
  const folder = await mkdtemp(join(root, 'pouchdb-'))
  return { restart: () => start(main, folder), remove: () => rm(folder, { recursive: true, force: true }) }
}

async function start(main: string, folder: string): Promise<Server> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const { pid, stop } = await runProgram([process.execPath, main, folder, `${port}`], origin)
  return {
    pid,
    origin,
    async newUser() {
      const user = `u${randomBytes(8).toString('hex')}`
      const answer = await fetch(`${origin}/${user}`, { method: 'PUT' })
      if (!answer.ok) throw new Error(`PUT /${user}: ${answer.status} ${await answer.text()}`)
      return { api: 'pouchdb', origin, user, headers: {} }
    },
    close: stop,
  }
}

/** In the cache folder, where npm installs its packages once. */
async function findProgram(): Promise<string> {
  const cache = cacheFolder(process.env)
  const installed = join(cache, 'pouchdb')
  const main = join(installed, 'server.mjs')
  const isThere = await access(main).then(
    () => true,
    () => false,
  )
  if (isThere) return main
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'install-'))
  console.error(`Installing the PouchDB server into ${cache}, once.`)
  try {
    await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages])
    await writeFile(join(folder, 'server.mjs'), program)
    await rename(folder, installed)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return main
}
