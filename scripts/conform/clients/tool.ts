/**
 * A generator of clients. Its shell commands run in a folder that holds the contract and the story of the same name;
 * PROJECT is the project's folder, whose tools are in PATH, CACHE a folder that outlives the run.
 */
export interface Tool {
  name: string
  version: string
  language: string
  /** Programs that the machine must have. */
  needs: string[]
  generate: string[]
  build: string[]
  /** Left out where the generated code makes no calls. */
  story?: string
  /** Why it is known not to build, as the guide says it. A run fails once it builds. */
  breaks?: string
}
