import { modelina } from './modelina.ts'
import type { Tool } from './tool.ts'

/** The TypeScript that generators get: some do not work with the newest one. */
const withTypescript = 'npm exec --yes --package=typescript@5.9.3'

/** Stories for Node are type-checked and bundled, like an app. */
const inNode = {
  language: 'TypeScript',
  build: [
    'tsc story.ts --noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler --types node --typeRoots "$PROJECT/node_modules/@types"',
    'esbuild story.ts --bundle --platform=node --format=esm --outfile=story.mjs',
  ],
  story: 'node story.mjs',
}
/** Tools whose code has the contract's field names share the story `story.ts`. */
const asInContract = { ...inNode, build: ['cp "$PROJECT/scripts/conform/stories/story.ts" .', ...inNode.build] }

/** Commands for generated code that makes no calls: the program `check.ts` in this folder of stories/ checks it. */
function checkedBy(folder: string): string[] {
  return [
    `cp "$PROJECT/scripts/conform/stories/${folder}/check.ts" .`,
    'NODE_PATH="$PROJECT/node_modules" esbuild check.ts --bundle --platform=node --outfile=check.cjs',
    'node check.cjs',
  ]
}

/** For clients on the Java virtual machine. */
const byMaven = {
  needs: ['javac'],
  build: ['mvn -q -B package org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'],
}

const openapiGenerator = '7.25.0'

/** A client by openapi-generator, which is downloaded by Maven. */
function byOpenapiGenerator(
  kind: string,
  language: string,
  options: string,
  { needs = [], ...rest }: Partial<Tool> & Pick<Tool, 'build'>,
): Tool {
  return {
    name: `openapi-generator (${kind})`,
    version: openapiGenerator,
    language,
    needs: ['java', 'mvn', ...needs],
    generate: [
      `mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.openapitools:openapi-generator-cli:${openapiGenerator} -DoutputDirectory=.`,
      `java -jar openapi-generator-cli-${openapiGenerator}.jar generate ${options} -i openapi.yaml -o client --global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false`,
    ],
    ...rest,
  }
}

/** Creates a Python environment with these packages. */
const venv = (...packages: string[]) => [
  'python3 -m venv python',
  `python/bin/pip install --quiet ${packages.join(' ')}`,
]

/** The story is a Go program in the folder where the commands run. The generated client is in its subfolder `client/`. */
const inGo = { build: ['go build -mod=mod -o story .'], story: './story' }

const pydanticIds = 'from models import *; BookmarkToCreate(id="laptop-1", encrypted_data="data", data_hash="hash")'

/** The tools by name. A tool's own files, such as its story, are in the folder of this name in stories/. */
export const tools: Record<string, Tool> = {
  'hey-api': {
    ...asInContract,
    name: 'hey-api',
    version: '0.99.0',
    needs: ['npm'],
    generate: [`${withTypescript} --package=@hey-api/openapi-ts@0.99.0 -- openapi-ts -i openapi.yaml -o client`],
  },
  orval: {
    ...asInContract,
    name: 'orval',
    version: '8.30.0',
    needs: ['npm'],
    generate: [`${withTypescript} --package=orval@8.30.0 -- orval`],
  },
  'hey-api-zod': {
    name: 'hey-api (zod)',
    version: '0.99.0',
    language: 'TypeScript',
    needs: ['npm'],
    generate: [
      `${withTypescript} --package=@hey-api/openapi-ts@0.99.0 -- openapi-ts -i openapi.yaml -o client -p @hey-api/typescript zod`,
    ],
    build: checkedBy('hey-api-zod'),
  },
  'hey-api-typescript-7': {
    name: 'hey-api, with TypeScript 7',
    version: '0.99.0',
    language: 'TypeScript',
    needs: ['npm'],
    generate: [
      'npm exec --yes --package=typescript@7.0.2 --package=@hey-api/openapi-ts@0.99.0 -- openapi-ts -i openapi.yaml -o client',
    ],
    build: ['test -f client/index.ts'],
    breaks: 'it needs TypeScript 5.9',
  },
  'orval-mocks': {
    name: 'orval (mocks, zod)',
    version: '8.30.0',
    language: 'TypeScript',
    needs: ['npm'],
    generate: [
      'cp "$PROJECT/scripts/conform/stories/orval-mocks/orval.config.ts" "$PROJECT/generated/openapi.json" .',
      `${withTypescript} --package=orval@8.30.0 -- orval`,
    ],
    build: ['npm install --silent --no-save --prefix . msw@3.0.5 @faker-js/faker@10.6.0', ...checkedBy('orval-mocks')],
  },
  'typescript-fetch': byOpenapiGenerator('typescript-fetch', inNode.language, '-g typescript-fetch', inNode),
  'swagger-typescript-api': {
    ...asInContract,
    name: 'swagger-typescript-api',
    version: '13.13.0',
    needs: ['npm'],
    generate: [
      `${withTypescript} --package=swagger-typescript-api@13.13.0 -- swagger-typescript-api generate -p openapi.yaml -o . -n client.ts`,
    ],
  },
  kubb: {
    ...asInContract,
    name: 'kubb',
    version: '4.39.3',
    needs: ['npm'],
    generate: [
      // kubb generates the same calls as orval, so they share this file.
      'cp "$PROJECT/scripts/conform/stories/orval/laptop.ts" .',
      `npm install --silent --no-save --prefix . typescript@5.9.3 ${['cli', 'core', 'plugin-oas', 'plugin-ts', 'plugin-client'].map((part) => `@kubb/${part}@4.39.3`).join(' ')}`,
      'node_modules/.bin/kubb generate',
    ],
  },
  java: byOpenapiGenerator('java, native', 'Java', '-g java --library native', {
    ...byMaven,
    story: "java -cp 'target/classes:target/dependency/*' Story",
  }),
  kotlin: byOpenapiGenerator('kotlin', 'Kotlin', '-g kotlin', {
    ...byMaven,
    story: "java -cp 'target/classes:target/dependency/*' StoryKt",
  }),
  rust: byOpenapiGenerator('rust', 'Rust', '-g rust --additional-properties=supportAsync=false,packageName=client', {
    needs: ['cargo'],
    // In the cache, the dependencies are compiled only once.
    build: ['cargo build -q --target-dir "$CACHE/conform-rust"'],
    story: '"$CACHE/conform-rust/debug/story"',
  }),
  go: byOpenapiGenerator('go', 'Go', '-g go --additional-properties=packageName=client,withGoMod=false', {
    ...inGo,
    needs: ['go'],
  }),
  'oapi-codegen': {
    ...inGo,
    name: 'oapi-codegen',
    version: '2.8.2',
    language: 'Go',
    needs: ['go'],
    generate: [
      'mkdir client',
      'go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package client -o client/client.go openapi.yaml',
    ],
  },
  ogen: {
    ...inGo,
    name: 'ogen',
    version: '1.24.0',
    language: 'Go',
    needs: ['go'],
    generate: ['go run github.com/ogen-go/ogen/cmd/ogen@v1.24.0 -target client -package client openapi.yaml'],
  },
  python: byOpenapiGenerator('python', 'Python', '-g python', {
    needs: ['python3'],
    build: [...venv('./client'), 'python/bin/python -m compileall -q client story.py'],
    story: 'python/bin/python story.py',
  }),
  'openapi-python-client': {
    name: 'openapi-python-client',
    version: '0.29.1',
    language: 'Python',
    needs: ['python3'],
    generate: [
      ...venv('openapi-python-client==0.29.1'),
      'python/bin/openapi-python-client generate --meta none --path openapi.yaml --output-path client',
    ],
    build: ['python/bin/python -m compileall -q client story.py'],
    story: 'python/bin/python story.py',
  },
  php: byOpenapiGenerator('php', 'PHP', '-g php', {
    needs: ['php'],
    build: ["find client/lib -name '*.php' -print0 | xargs -0 -n 1 php -l"],
  }),
  ruby: byOpenapiGenerator('ruby', 'Ruby', '-g ruby', {
    needs: ['ruby'],
    build: [
      "find client/lib -name '*.rb' -print0 | xargs -0 -n 1 ruby -c",
      // Each call with a session reads these settings.
      'ruby -rdate -rlogger -e \'module OpenapiClient; end; require "./client/lib/openapi_client/configuration"; OpenapiClient::Configuration.new.auth_settings\'',
    ],
    breaks: 'calls with a session end at `in: ,` in its settings',
  }),
  // Only generated, because few machines have these compilers.
  csharp: byOpenapiGenerator('csharp, restsharp', 'C#', '-g csharp --library restsharp', { build: [] }),
  swift: byOpenapiGenerator('swift6', 'Swift', '-g swift6', { build: [] }),
  'datamodel-code-generator': {
    name: 'datamodel-code-generator',
    version: '0.89.0',
    language: 'Python',
    needs: ['python3'],
    generate: [
      ...venv('datamodel-code-generator==0.89.0'),
      'python/bin/datamodel-codegen --input openapi.yaml --input-file-type openapi --output-model-type pydantic_v2.BaseModel --output models.py',
    ],
    // Pydantic compiles patterns with Rust's library, which refuses some, and checks values against them.
    build: [`python/bin/python -c '${pydanticIds}'`],
  },
  ...modelina,
}
