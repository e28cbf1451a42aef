import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from '../../servers/program.ts'
import { modelina } from './modelina.ts'
import type { Command, Tool } from './tool.ts'

const modules = fileURLToPath(new URL('../../../../node_modules', import.meta.url))
/** Some of the generators need a TypeScript, which would otherwise be the newest one. */
const typescript = '--package=typescript@5.9.3'

/** What runs in Node: checked by the compiler, and bundled as apps are. */
const typescriptBuild: Command[] = [
  [
    ...[join(modules, '.bin/tsc'), 'story.ts', '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022'],
    ...['--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'node'],
    ...['--typeRoots', join(modules, '@types')],
  ] as unknown as Command,
  [join(modules, '.bin/esbuild'), 'story.ts', '--bundle', '--platform=node', '--format=esm', '--outfile=story.mjs'],
]
const typescriptStory: Command = [process.execPath, 'story.mjs']

const openapiGenerator = '7.25.0'

/** The same program generates for many languages. Maven fetches it. */
function generateWithOpenapi(...options: string[]): Command[] {
  const artifact = `org.openapitools:openapi-generator-cli:${openapiGenerator}`
  const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
  const withoutTests = '--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false'
  return [
    ['mvn', '-q', '-B', copy, `-Dartifact=${artifact}`, '-DoutputDirectory=.'],
    [
      ...(['java', '-jar', `openapi-generator-cli-${openapiGenerator}.jar`, 'generate'] as const),
      ...['-i', 'openapi.yaml', '-o', 'client', withoutTests, ...options],
    ],
  ]
}

const maven: Command[] = [
  ['mvn', '-q', '-B', 'package', 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'],
]

/** By name: those with a story have it in the folder of that name. */
export const tools: Record<string, Tool> = {
  'hey-api': {
    name: 'hey-api',
    version: '0.99.0',
    language: 'TypeScript',
    needs: ['npm'],
    generate: [
      [
        ...(['npm', 'exec', '--yes', '--package=@hey-api/openapi-ts@0.99.0', typescript, '--'] as const),
        ...['openapi-ts', '-i', 'openapi.yaml', '-o', 'client'],
      ],
    ],
    build: typescriptBuild,
    story: typescriptStory,
  },
  orval: {
    name: 'orval',
    version: '8.30.0',
    language: 'TypeScript',
    needs: ['npm'],
    generate: [['npm', 'exec', '--yes', '--package=orval@8.30.0', typescript, '--', 'orval']],
    build: typescriptBuild,
    story: typescriptStory,
  },
  'typescript-fetch': {
    name: 'openapi-generator (typescript-fetch)',
    version: openapiGenerator,
    language: 'TypeScript',
    needs: ['java', 'mvn'],
    generate: generateWithOpenapi('-g', 'typescript-fetch'),
    build: typescriptBuild,
    story: typescriptStory,
  },
  java: {
    name: 'openapi-generator (java, native)',
    version: openapiGenerator,
    language: 'Java',
    needs: ['java', 'javac', 'mvn'],
    generate: generateWithOpenapi('-g', 'java', '--library', 'native'),
    build: maven,
    story: ['java', '-cp', 'target/classes:target/dependency/*', 'Story'],
  },
  kotlin: {
    name: 'openapi-generator (kotlin)',
    version: openapiGenerator,
    language: 'Kotlin',
    needs: ['java', 'mvn'],
    generate: generateWithOpenapi('-g', 'kotlin'),
    build: maven,
    story: ['java', '-cp', 'target/classes:target/dependency/*', 'StoryKt'],
  },
  rust: {
    name: 'openapi-generator (rust)',
    version: openapiGenerator,
    language: 'Rust',
    needs: ['java', 'mvn', 'cargo'],
    generate: generateWithOpenapi('-g', 'rust', '--additional-properties=supportAsync=false,packageName=client'),
    // The dependencies are compiled once.
    build: [['cargo', 'build', '-q', '--target-dir', join(cacheFolder(process.env), 'conform-rust')]],
    story: [join(cacheFolder(process.env), 'conform-rust/debug/story')],
  },
  'oapi-codegen': {
    name: 'oapi-codegen',
    version: '2.8.2',
    language: 'Go',
    needs: ['go'],
    generate: [
      ['mkdir', 'client'],
      [
        ...(['go', 'run', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'] as const),
        ...['-generate', 'types,client', '-package', 'client', '-o', 'client/client.go', 'openapi.yaml'],
      ],
    ],
    build: [['go', 'build', '-mod=mod', '-o', 'story', '.']],
    story: ['./story'],
  },
  'openapi-python-client': {
    name: 'openapi-python-client',
    version: '0.29.1',
    language: 'Python',
    needs: ['python3'],
    generate: [
      ['python3', '-m', 'venv', 'python'],
      ['python/bin/pip', 'install', '--quiet', 'openapi-python-client==0.29.1'],
      [
        ...(['python/bin/openapi-python-client', 'generate', '--meta', 'none'] as const),
        ...['--path', 'openapi.yaml', '--output-path', 'client'],
      ],
    ],
    build: [['python/bin/python', '-m', 'compileall', '-q', 'client', 'story.py']],
    story: ['python/bin/python', 'story.py'],
  },
  ...modelina,
}
