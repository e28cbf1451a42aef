import { modelina } from './modelina.ts'
import type { Tool } from './tool.ts'

/** Some of the generators need a TypeScript, which would otherwise be the newest one. */
const withTypescript = 'npm exec --yes --package=typescript@5.9.3'

/** Stories in Node are checked by the compiler, and bundled as apps are. */
const inNode = {
  language: 'TypeScript',
  build: [
    'tsc story.ts --noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler --types node --typeRoots "$PROJECT/node_modules/@types"',
    'esbuild story.ts --bundle --platform=node --format=esm --outfile=story.mjs',
  ],
  story: 'node story.mjs',
}

/** On the Java virtual machine. */
const byMaven = {
  needs: ['java', 'javac', 'mvn'],
  build: ['mvn -q -B package org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'],
}

const openapiGenerator = '7.25.0'

/** The same program generates for many languages. Maven fetches it. */
function openapiGeneratorFor(options: string): string[] {
  return [
    `mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.openapitools:openapi-generator-cli:${openapiGenerator} -DoutputDirectory=.`,
    `java -jar openapi-generator-cli-${openapiGenerator}.jar generate ${options} -i openapi.yaml -o client --global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false`,
  ]
}

/** Machines seldom have the compiler, so the code is only generated. */
const uncompiled = { version: openapiGenerator, needs: ['java', 'mvn'], build: [] }

const pydanticIds = 'from models import *; BookmarkToCreate(id="laptop-1", encrypted_data="data", data_hash="hash")'

/** By name: those with a story have it in the folder of that name. */
export const tools: Record<string, Tool> = {
  'hey-api': {
    ...inNode,
    name: 'hey-api',
    version: '0.99.0',
    needs: ['npm'],
    generate: [`${withTypescript} --package=@hey-api/openapi-ts@0.99.0 -- openapi-ts -i openapi.yaml -o client`],
  },
  orval: {
    ...inNode,
    name: 'orval',
    version: '8.30.0',
    needs: ['npm'],
    generate: [`${withTypescript} --package=orval@8.30.0 -- orval`],
  },
  'typescript-fetch': {
    ...inNode,
    name: 'openapi-generator (typescript-fetch)',
    version: openapiGenerator,
    needs: ['java', 'mvn'],
    generate: openapiGeneratorFor('-g typescript-fetch'),
  },
  'swagger-typescript-api': {
    ...inNode,
    name: 'swagger-typescript-api',
    version: '13.13.0',
    needs: ['npm'],
    generate: [
      `${withTypescript} --package=swagger-typescript-api@13.13.0 -- swagger-typescript-api generate -p openapi.yaml -o . -n client.ts`,
    ],
  },
  kubb: {
    ...inNode,
    name: 'kubb',
    version: '4.39.3',
    needs: ['npm'],
    generate: [
      // Its calls are the same as orval's.
      'cp "$PROJECT/scripts/conform/stories/orval/story.ts" .',
      `npm install --silent --no-save --prefix . typescript@5.9.3 ${['cli', 'core', 'plugin-oas', 'plugin-ts', 'plugin-client'].map((part) => `@kubb/${part}@4.39.3`).join(' ')}`,
      'node_modules/.bin/kubb generate',
    ],
  },
  java: {
    ...byMaven,
    name: 'openapi-generator (java, native)',
    version: openapiGenerator,
    language: 'Java',
    generate: openapiGeneratorFor('-g java --library native'),
    story: "java -cp 'target/classes:target/dependency/*' Story",
  },
  kotlin: {
    ...byMaven,
    name: 'openapi-generator (kotlin)',
    version: openapiGenerator,
    language: 'Kotlin',
    generate: openapiGeneratorFor('-g kotlin'),
    story: "java -cp 'target/classes:target/dependency/*' StoryKt",
  },
  rust: {
    name: 'openapi-generator (rust)',
    version: openapiGenerator,
    language: 'Rust',
    needs: ['java', 'mvn', 'cargo'],
    generate: openapiGeneratorFor('-g rust --additional-properties=supportAsync=false,packageName=client'),
    // The dependencies are compiled once.
    build: ['cargo build -q --target-dir "$CACHE/conform-rust"'],
    story: '"$CACHE/conform-rust/debug/story"',
  },
  go: {
    name: 'openapi-generator (go)',
    version: openapiGenerator,
    language: 'Go',
    needs: ['java', 'mvn', 'go'],
    generate: openapiGeneratorFor('-g go --additional-properties=packageName=client,withGoMod=false'),
    build: ['go build -mod=mod -o story .'],
    story: './story',
  },
  'oapi-codegen': {
    name: 'oapi-codegen',
    version: '2.8.2',
    language: 'Go',
    needs: ['go'],
    generate: [
      'mkdir client',
      'go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package client -o client/client.go openapi.yaml',
    ],
    build: ['go build -mod=mod -o story .'],
    story: './story',
  },
  ogen: {
    name: 'ogen',
    version: '1.24.0',
    language: 'Go',
    needs: ['go'],
    generate: ['go run github.com/ogen-go/ogen/cmd/ogen@v1.24.0 -target client -package client openapi.yaml'],
    build: ['go build -mod=mod -o story .'],
    story: './story',
  },
  python: {
    name: 'openapi-generator (python)',
    version: openapiGenerator,
    language: 'Python',
    needs: ['java', 'mvn', 'python3'],
    generate: openapiGeneratorFor('-g python'),
    build: [
      'python3 -m venv python',
      'python/bin/pip install --quiet ./client',
      'python/bin/python -m compileall -q client story.py',
    ],
    story: 'python/bin/python story.py',
  },
  'openapi-python-client': {
    name: 'openapi-python-client',
    version: '0.29.1',
    language: 'Python',
    needs: ['python3'],
    generate: [
      'python3 -m venv python',
      'python/bin/pip install --quiet openapi-python-client==0.29.1',
      'python/bin/openapi-python-client generate --meta none --path openapi.yaml --output-path client',
    ],
    build: ['python/bin/python -m compileall -q client story.py'],
    story: 'python/bin/python story.py',
  },
  php: {
    name: 'openapi-generator (php)',
    version: openapiGenerator,
    language: 'PHP',
    needs: ['java', 'mvn', 'php'],
    generate: openapiGeneratorFor('-g php'),
    build: ["find client/lib -name '*.php' -print0 | xargs -0 -n 1 php -l"],
  },
  ruby: {
    name: 'openapi-generator (ruby)',
    version: openapiGenerator,
    language: 'Ruby',
    needs: ['java', 'mvn', 'ruby'],
    generate: openapiGeneratorFor('-g ruby'),
    build: [
      "find client/lib -name '*.rb' -print0 | xargs -0 -n 1 ruby -c",
      // Each call with a session asks for these.
      'ruby -rdate -rlogger -e \'module OpenapiClient; end; require "./client/lib/openapi_client/configuration"; OpenapiClient::Configuration.new.auth_settings\'',
    ],
    breaks: 'calls with a session end at `in: ,` in its settings',
  },
  csharp: {
    ...uncompiled,
    name: 'openapi-generator (csharp)',
    language: 'C#',
    generate: openapiGeneratorFor('-g csharp'),
  },
  swift: {
    ...uncompiled,
    name: 'openapi-generator (swift6)',
    language: 'Swift',
    generate: openapiGeneratorFor('-g swift6'),
  },
  'datamodel-code-generator': {
    name: 'datamodel-code-generator',
    version: '0.89.0',
    language: 'Python',
    needs: ['python3'],
    generate: [
      'python3 -m venv python',
      'python/bin/pip install --quiet datamodel-code-generator==0.89.0',
      'python/bin/datamodel-codegen --input openapi.yaml --input-file-type openapi --output-model-type pydantic_v2.BaseModel --output models.py',
    ],
    // Pydantic reads patterns as Rust does, and checks each value.
    build: [`python/bin/python -c '${pydanticIds}'`],
  },
  ...modelina,
}
