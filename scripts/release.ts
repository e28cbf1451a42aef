/** `npm run release`. */
import { command, run } from '../src/service/terminal/command.ts'
import { withProgress } from '../src/service/terminal/progress.ts'
import { agreed } from './release/agreement.ts'

await run(
  command(
    'release',
    'Writes the release to dist/release/, from a clean checkout, byte for byte the same each time.',
    'It needs tar, gzip and dpkg-deb, and downloads Node for both platforms from npm. docs/releasing.md describes the next steps.',
  )
    .option(
      '--check',
      'only checks that package.json, the contracts, the manifests, CHANGELOG.md and the tag name the same version',
    )
    .action(async ({ check }: { check?: true }) => {
      const version = await agreed()
      if (check) return
      const { release } = await import('./release/release.ts')
      const names = await withProgress(({ report }) => release(version, report))
      for (const name of names) console.log(`dist/release/${name}`)
    }),
)
