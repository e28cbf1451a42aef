/** Each program compiles only with the globals of the platform on which it runs. */
import { resolve } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { isDeep } from './support/depth.ts'

interface Globals {
  has: string[]
  lacks: string[]
}

const programs: Record<string, Globals> = {
  'src/protocol': { has: ['Map'], lacks: ['document', 'process', 'setTimeout'] },
  'src/service': { has: ['process', 'Buffer'], lacks: ['document', 'window', 'HTMLElement', 'importScripts'] },
  'src/client': { has: ['WebSocket', 'indexedDB'], lacks: ['process', 'Buffer', 'document', 'localStorage'] },
  'src/client/tsconfig.node.json': { has: ['process', 'WebSocket'], lacks: ['document', 'indexedDB', 'importScripts'] },
  'src/extension': { has: ['WebSocket', 'indexedDB'], lacks: ['process', 'Buffer', 'document', 'localStorage'] },
  'src/extension/tsconfig.pages.json': { has: ['document'], lacks: ['process', 'Buffer', 'importScripts'] },
  'src/web': { has: ['document', 'localStorage'], lacks: ['process', 'Buffer', 'importScripts'] },
  'src/web/tsconfig.workers.json': { has: ['importScripts'], lacks: ['process', 'document', 'localStorage'] },
}

/** Parsed files, by path and JSX setting: the compiler stores imports in them, and the JSX setting adds one. */
const sources = new Map<string, ts.SourceFile | undefined>()

/** The globals that do not compile in an additional file of this program. */
function unknownIn(project: string, names: string[]): string[] {
  const path = resolve(project.endsWith('.json') ? project : `${project}/tsconfig.json`)
  const { options, fileNames } = ts.getParsedCommandLineOfConfigFile(
    path,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: ({ messageText }) => t.fail(String(messageText)) },
  ) as ts.ParsedCommandLine
  const added = resolve(path, '../uses-globals.ts')
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  const text = `export const used = [${names.join(', ')}]\n`
  host.fileExists = (name) => name === added || fileExists(name)
  host.readFile = (name) => (name === added ? text : readFile(name))
  host.getSourceFile = (name, language, ...how) => {
    if (name === added) return ts.createSourceFile(name, text, language)
    const key = `${name} ${options.jsx}`
    if (!sources.has(key)) sources.set(key, getSourceFile(name, language, ...how))
    return sources.get(key)
  }
  const program = ts.createProgram([...fileNames, added], options, host)
  const faults = program.getSemanticDiagnostics(program.getSourceFile(added))
  return faults.map(({ start = 0, length = 0 }) => text.slice(start, start + length))
}

/** A program takes a second or two, so the quick depth has one of each kind. */
const quick = ['src/protocol', 'src/client', 'src/web/tsconfig.workers.json']

for (const [project, { has, lacks }] of Object.entries(programs).filter(([name]) => isDeep || quick.includes(name)))
  t.test(`A global of another platform does not compile in ${project}`, async (t) => {
    t.same(unknownIn(project, [...has, ...lacks]), lacks)
  })
