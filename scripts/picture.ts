/** `npm run picture`. */
import { command, run } from '../src/service/terminal/command.ts'
import { withProgress } from '../src/service/terminal/progress.ts'

await run(
  command(
    'picture',
    "Writes the pictures of docs/assets, from the running web page: one person's bookmarks on two devices, on a phone, and in a browser.",
    'Then writes those of all views and dialogs of the page, in four widths, light and dark, into dist/pictures/, to look at.',
  )
    .option('--store', 'writes the pictures of the browser extension for its stores into dist/store/ instead')
    .option('--views [LANGUAGE]', 'writes only those in dist/pictures/, of the page in this language (en)')
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
      console.log(`${written.join('\n')}\nLook at all of them: the last one shows them beside each other.`)
    }),
)
