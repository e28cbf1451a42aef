import t from 'tap'
import { openExport } from '../../src/client/export-file/export-file.ts'
import { encryptFile } from '../../src/service/exports/file.ts'
import { exportJson, exportKeys, keys, makeBookmarks } from './export-samples.ts'

t.test('the client opens what the service writes, at every border of a chunk', async (t) => {
  const bookmarks = makeBookmarks(2)
  const json = exportJson(bookmarks)
  for (const size of [Buffer.byteLength(json), 65_535, 65_536, 65_537, 131_072, 131_073]) {
    const spaces = ' '.repeat(size - Buffer.byteLength(json))
    const text = json.replace('"bookmarks":[', `$&${spaces}`)
    const file = encryptFile(keys.exportKey, pieces(text))
    t.same((await openExport(file, exportKeys)).bookmarks, bookmarks, `${size} bytes`)
  }
})

async function* pieces(text: string): AsyncGenerator<string> {
  for (let start = 0; start < text.length; start += 50_000) yield text.slice(start, start + 50_000)
}
