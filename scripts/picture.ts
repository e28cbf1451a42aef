/** `npm run picture`. */
import { command, run } from '../src/service/terminal/command.ts'
import { withProgress } from '../src/service/terminal/progress.ts'

await run(
  command(
    'picture',
    "Draws the pictures in docs/assets from the running web page: one person's bookmarks on two devices, on a phone, and in a browser.",
    'Then draws all views and dialogs of the page into dist/pictures/, for review: in four widths, light and dark.',
  )
    .option('--store', 'draws the pictures for the stores of the browser extension instead, into dist/store/')
    .option('--views [LANGUAGE]', 'draws only those in dist/pictures/, in this language (default: en)')
    .action(async ({ store, views }: { store?: true; views?: true | string }) => {
      if (store) {
        const { drawStore } = await import('./picture/store.ts')
        return console.log(`Written: ${await withProgress(({ report }) => drawStore(report))}.`)
      }
      if (views === undefined) {
        const { drawPictures } = await import('./picture/draw.ts')
        const folder = await withProgress(({ report }) => drawPictures(report))
        console.log(`Written: ${folder}. Look at them, then commit them.`)
      }
      const { drawViews } = await import('./picture/views.ts')
      const language = typeof views === 'string' ? views : 'en'
      const written = await withProgress(({ report }) => drawViews(report, language))
      console.log(`${written.join('\n')}\nLook at all of them: the last one shows them next to each other.`)
    }),
)
