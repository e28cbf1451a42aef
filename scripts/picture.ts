/** `npm run picture`. */
import { command, run } from '../src/service/terminal/command.ts'
import { withProgress } from '../src/service/terminal/progress.ts'

await run(
  command(
    'picture',
    "Writes docs/assets/page.png, the picture of the README, from the running web page: one person's bookmarks on two devices.",
  )
    .option('--store', 'writes the pictures of the browser extension for its stores into dist/store/ instead')
    .action(async ({ store }: { store?: true }) => {
      if (store) {
        const { drawStore } = await import('./picture/store.ts')
        return console.log(`Written: ${await withProgress(({ report }) => drawStore(report))}.`)
      }
      const { drawPicture } = await import('./picture/draw.ts')
      const file = await withProgress(({ report }) => drawPicture(report))
      console.log(`Written: ${file}. Look at it, then commit it.`)
    }),
)
