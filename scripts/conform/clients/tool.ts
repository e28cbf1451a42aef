/**
 * A generator of clients. Its shell commands run in a folder with the contracts and the tool's story, the program that
 * stories/README.md describes. PROJECT is this checkout, whose npm programs are in PATH; CACHE outlives the run.
 */
export interface Tool {
  name: string
  version: string
  language: string
  /** Programs that must be installed. */
  needs: string[]
  generate: string[]
  build: string[]
  /** Undefined if the client is not run, for example because the generated code makes no calls. */
  story?: string
  /** The known reason why the client does not build, for docs/languages.md. If it builds after all, the run fails. */
  breaks?: string
}
