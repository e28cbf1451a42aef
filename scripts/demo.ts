/** `npm run demo -- FILE.htm [COPY.htm]`. */
import { command, existingFile, run, UsageError } from '../src/service/terminal/command.ts'

await run(
  command(
    'demo',
    'Plays the story of a person with two devices, over real HTTP and WebSocket. Exits with 1 at the first difference.',
    'BASE_URL names a running service with the development provider. Without it, the demo starts its own in a temporary folder.',
  )
    .argument('<file.htm>', "a browser's bookmark file; test/fixtures/bookmarks/ has some", existingFile)
    .argument('[copy.htm]', 'where to write the bookmark file that is made from the export')
    .action(async (file: string, copy?: string) => {
      const { BASE_URL } = process.env
      if (BASE_URL && !URL.canParse(BASE_URL)) throw new UsageError(`BASE_URL: ${BASE_URL} is not a URL`)
      await (await import('./demo/play.ts')).play(file, copy, BASE_URL ? new URL(BASE_URL) : undefined)
    }),
)
