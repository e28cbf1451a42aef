import { execFileSync } from 'node:child_process'
import { chmod, mkdir } from 'node:fs/promises'

/** Installs a minimal Debian and these packages in a folder, from this machine's package sources if it runs Debian. */
export async function installDebian(suite: string, at: string, ...packages: string[]): Promise<void> {
  await mkdir(at, { recursive: true })
  // The folder becomes the root folder of all its users, so all must be able to enter it.
  await chmod(at, 0o755)
  const wanted = ['Created-By: Packages', 'Origin: Debian']
  const sites = execFileSync('apt-get', ['indextargets', '--format', '$(SITE)', ...wanted], { encoding: 'utf8' })
  const mirror = sites.split('\n').slice(0, 1).filter(Boolean)
  const more = packages.map((name) => `--include=${name}`)
  const words = ['--variant=minbase', ...more, suite, at, ...mirror]
  execFileSync('debootstrap', words, { stdio: ['ignore', 'ignore', 'inherit'] })
}
