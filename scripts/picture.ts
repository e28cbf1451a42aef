/** `npm run picture`. */
import { command, run } from '../src/service/terminal/command.ts'
import { withProgress } from '../src/service/terminal/progress.ts'

await run(
  command(
    'picture',
    "Writes the pictures of docs/assets, from the running web page: one person's bookmarks on two devices, on a phone, and in a browser.",
  )
    .option('--store', 'writes the pictures of the browser extension for its stores into dist/store/ instead')
    .action(async ({ store }: { store?: true }) => {
      if (store) {
        const { drawStore } = await import('./picture/store.ts')
        return console.log(`Written: ${await withProgress(({ report }) => drawStore(report))}.`)
      }
      const { drawPictures } = await import('./picture/draw.ts')
      const folder = await withProgress(({ report }) => drawPictures(report))
      console.log(`Written: ${folder}. Look at them, then commit them.`)
    }),
)
