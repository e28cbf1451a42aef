import { request } from 'undici'
import { operations } from '../../../generated/operations.ts'
import type { Attack } from '../attack.ts'

const everyMs = 20

/** What a foreign page's `<img>` elements ask for: without credentials, from the victim's own address. */
export const images: Attack = {
  async run({ port }) {
    const url = `http://127.0.0.1:${port}${operations.listBookmarks.path}`
    setInterval(
      () =>
        void request(url).then(
          ({ body }) => body.dump(),
          () => {},
        ),
      everyMs,
    )
  },
}
