/** `npm run review`. */
import { command, run } from '../src/service/terminal/command.ts'

await run(
  command(
    'review',
    'Reports which version the changes of the contract require, and what they mean for its clients.',
    'It compares the contracts in this folder with those of a commit. Exits with 1 if a breaking change comes without a major version, or if generated/ is stale.',
  )
    .option(
      '--base <commit>',
      'what to compare with (default: the merge base with origin/main, or the previous commit)',
    )
    .option('--output <file>', 'writes the Markdown there instead of printing it')
    .option('--annotations', "also prints GitHub's workflow commands, as does GITHUB_ACTIONS=true")
    .action(async (options: { base?: string; output?: string; annotations?: true }) =>
      (await import('./contract/review/output.ts')).printReview(options),
    ),
)
