import type { Tool } from './tool.ts'

const version = '5.10.1'
const pythonImports =
  'import importlib, pkgutil, realtime as r; [importlib.import_module(m.name, "realtime") for m in pkgutil.iter_modules(r.__path__, ".")]'

/** Generators of types for the realtime channel's messages. The types only have to compile. */
export const modelina: Record<string, Tool> = {
  'modelina-typescript': forLanguage('TypeScript', 'typescript', {
    needs: [],
    build: ['tsc --noEmit --strict --target es2022 --module esnext --moduleResolution bundler realtime/*'],
  }),
  'modelina-java': forLanguage('Java', 'java --packageName=realtime', {
    needs: ['javac'],
    build: ['javac -d classes realtime/*'],
  }),
  'modelina-python': forLanguage('Python', 'python --packageName=realtime', {
    needs: ['python3'],
    build: [`python3 -c '${pythonImports}'`],
  }),
  'modelina-go': forLanguage('Go', 'golang --packageName=realtime', {
    needs: ['go'],
    build: ['go -C realtime mod init realtime', 'go -C realtime build ./...'],
  }),
}

function forLanguage(language: string, options: string, { needs, build }: Pick<Tool, 'needs' | 'build'>): Tool {
  const modelina = `npm exec --yes --package=@asyncapi/modelina-cli@${version} -- modelina`
  const generate = [`${modelina} generate ${options} --output=realtime asyncapi.yaml`]
  return { name: 'Modelina', version, language, needs: ['npm', ...needs], generate, build }
}
