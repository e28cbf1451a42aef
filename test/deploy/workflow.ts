import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import packageJson from '../../package.json' with { type: 'json' }
import { readYaml } from './files.ts'

interface Workflow {
  jobs: Record<string, { steps: { run?: string }[] }>
}

/** The shell commands of the release workflow. */
export const releaseSteps = Object.values(readYaml<Workflow>('.github/workflows/release.yml').jobs).flatMap(
  ({ steps }) => steps.flatMap(({ run }) => run ?? []),
)

/** Runs the one step that contains these words, as GitHub's runner does on the tag of this version. */
export function runReleaseStep(words: string, cwd: string, env: NodeJS.ProcessEnv): SpawnSyncReturns<string> {
  const [step, ...others] = releaseSteps.filter((run) => run.includes(words))
  if (step === undefined || others.length > 0) throw new Error(`not one step with: ${words}`)
  // npm can prove the provenance only on GitHub's runner.
  const line = step.replace('--provenance ', '')
  const given = { GITHUB_REF_NAME: `v${packageJson.version}`, GITHUB_REPOSITORY: 'Owner/Name', REGISTRY: 'registry' }
  return spawnSync('bash', ['-e', '-c', line], { cwd, env: { ...given, ...env }, encoding: 'utf8' })
}
