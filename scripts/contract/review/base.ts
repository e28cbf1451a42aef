import { readdir, readFile } from 'node:fs/promises'
import { parseYaml } from '@redocly/openapi-core'
import { bundled } from '../generated.ts'
import { type Git, gitIn } from '../git.ts'
import type { Contract } from '../openapi.ts'

/** Its message tells the user why there can be no review. */
export class ReviewError extends Error {
  override name = 'ReviewError'
}

export interface Base {
  /** Undefined if there is no commit to compare with: then everything is new. */
  commit?: string
  /** The name to print, in Markdown. */
  name: string
}

/** The base of the comparison: the requested commit, or the last one without the current work. */
export async function findBase(root: URL, ref?: string): Promise<Base> {
  const git = gitIn(root)
  const isRepository = await git('rev-parse', '--is-inside-work-tree').catch(() => {
    throw new ReviewError('git is not installed, and the review compares with a commit.')
  })
  if (isRepository === undefined)
    throw new ReviewError('This folder is not in a git repository, so there is nothing to compare the contract with.')
  if (ref === undefined) return beginning(git)
  const commit = await git('rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`)
  if (!commit) throw new ReviewError(`The commit \`${ref}\` does not exist here. In a shallow clone, fetch it first.`)
  return { commit, name: `\`${ref}\`` }
}

async function beginning(git: Git): Promise<Base> {
  const head = await git('rev-parse', '--verify', '--quiet', 'HEAD')
  if (!head) return { name: 'nothing: there is no commit yet' }
  const fork = await git('merge-base', 'HEAD', 'origin/main')
  if (fork && fork !== head) return { commit: fork, name: `\`${fork.slice(0, 7)}\`, the merge base with origin/main` }
  if (await git('status', '--porcelain', '--', ':(glob)*.yaml', ':(glob)*.yml'))
    return { commit: head, name: `\`${head.slice(0, 7)}\`, the last commit` }
  const previous = await git('rev-parse', '--verify', '--quiet', 'HEAD^')
  if (previous) return { commit: previous, name: `\`${previous.slice(0, 7)}\`, the previous commit` }
  if ((await git('rev-parse', '--is-shallow-repository')) === 'true')
    throw new ReviewError('This clone is too shallow to contain the previous commit: fetch with a depth of 2 or more.')
  return { name: 'nothing: this is the first commit' }
}

/** A contract before and after the change, each bundled into one document. */
export interface Documents {
  file: string
  before: Contract
  after: Contract
}

/** The contracts in a folder: YAML files that are an OpenAPI, AsyncAPI or Arazzo document. */
export async function contractsIn(folder: URL): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name))
  const contents = await Promise.all(names.map((name) => readFile(new URL(encodeURIComponent(name), folder), 'utf8')))
  return names.filter((_, index) => isContract(contents[index] ?? '')).sort()
}

/** A text that cannot be parsed counts as a contract if it names a format, so that `readBoth` reports the fault. */
function isContract(text: string): boolean {
  try {
    const document = parseYaml(text) as object | undefined
    return ['openapi', 'asyncapi', 'arazzo'].some((name) => Object.hasOwn(document ?? {}, name))
  } catch {
    return /(openapi|asyncapi|arazzo)["']?:/.test(text)
  }
}

export async function readBoth(base: URL, revision: URL, file: string): Promise<Documents> {
  const read = (folder: URL, whose: string) =>
    bundled(new URL(file, folder)).catch((error: Error) => {
      throw new ReviewError(`${whose} ${file} is not a readable contract. ${error.message}`)
    })
  return { file, before: await read(base, 'The older'), after: await read(revision, 'This') }
}
