import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command, Tool } from './tool.ts'

const version = '5.10.1'
const tsc = join(fileURLToPath(new URL('../../../../node_modules', import.meta.url)), '.bin/tsc')
const importAll =
  'import importlib, pkgutil, realtime as r; [importlib.import_module(m.name, "realtime") for m in pkgutil.iter_modules(r.__path__, ".")]'

/** The types of the realtime channel's messages, which need only compile. */
export const modelina: Record<string, Tool> = {
  'modelina-typescript': forLanguage('TypeScript', 'typescript', [], {
    needs: [],
    build: [
      ['sh', '-c', `'${tsc}' --noEmit --strict --target es2022 --module esnext --moduleResolution bundler realtime/*`],
    ],
  }),
  'modelina-java': forLanguage('Java', 'java', ['--packageName=realtime'], {
    needs: ['javac'],
    build: [['sh', '-c', 'javac -d classes realtime/*']],
  }),
  'modelina-python': forLanguage('Python', 'python', ['--packageName=realtime'], {
    needs: ['python3'],
    build: [['python3', '-c', importAll]],
  }),
  'modelina-go': forLanguage('Go', 'golang', ['--packageName=realtime'], {
    needs: ['go'],
    build: [
      ['go', '-C', 'realtime', 'mod', 'init', 'realtime'],
      ['go', '-C', 'realtime', 'build', './...'],
    ],
  }),
}

function forLanguage(language: string, argument: string, options: string[], rest: Pick<Tool, 'needs' | 'build'>): Tool {
  const generate: Command = [
    ...(['npm', 'exec', '--yes', `--package=@asyncapi/modelina-cli@${version}`, '--'] as const),
    ...['modelina', 'generate', argument, 'asyncapi.yaml', '--output=realtime', ...options],
  ]
  return { name: 'Modelina', version, language, generate: [generate], build: rest.build, needs: ['npm', ...rest.needs] }
}
