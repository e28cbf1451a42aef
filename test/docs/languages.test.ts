/** The guide to other languages agrees with the tools and stories of `npm run conform -- --clients`. */
import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { tools } from '../../scripts/conform/clients/tools.ts'

const guide = await readFile(new URL('../../docs/languages.md', import.meta.url), 'utf8')
const stories = new URL('../../scripts/conform/stories/', import.meta.url)

t.test('The table of client generators has every tool, with the results that a run would find', (t) => {
  const rows = guide.split('\n').filter((line) => line.startsWith('| '))
  const expected = Object.values(tools).map(({ name, version, language, build, story, breaks }) => {
    const built = build.length > 0 ? 'yes' : 'generated'
    return `| ${name} | ${version} | ${language} | ${breaks ? `no: ${breaks}` : built} | ${story ? 'yes' : '–'} |`
  })
  t.same(rows.slice(1).toSorted(), expected.toSorted())
  t.end()
})

t.test('For each client, the guide shows how its story names the user of a request', async (t) => {
  const [, section = ''] = guide.split('\n## The user of a request\n')
  const [text = ''] = section.split('\n## ')
  const items = text.split('\n- ').slice(1)
  for (const [name, tool] of Object.entries(tools)) {
    if (!tool.story) continue
    const [item = '', ...more] = items.filter((one) => one.split(':')[0]?.includes(tool.name))
    t.ok(item && more.length === 0, `${tool.name} has one item`)
    const [, code = ''] = /`(.+?)`/.exec(item) ?? []
    const folder = new URL(`${name}/`, stories)
    const files = (await readdir(folder, { recursive: true })).filter((file) => /\.\w+$/.test(file))
    const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')))
    t.ok(
      texts.some((story) => story.includes(code)),
      `${tool.name}: ${code}`,
    )
  }
})

const samples = [
  { language: 'Java', tool: 'java', story: 'java/Story.java' },
  { language: 'Python', tool: 'openapi-python-client', story: 'openapi-python-client/story.py' },
  { language: 'Go', tool: 'oapi-codegen', story: 'oapi-codegen/story.go' },
  { language: 'Rust', tool: 'rust', story: 'rust/src/main.rs' },
]

for (const { language, tool, story } of samples) {
  t.test(`${language}: the guide has the commands and code of the story`, async (t) => {
    const [, section = ''] = guide.split(`\n## ${language}\n`)
    const [commands = '', code = ''] = [...section.matchAll(/^```\w+\n(.*?)^```/gms)].map(([, block]) => block)
    const words = (tools[tool]?.generate ?? []).join(' ').split(' ')
    t.same(
      commands.split(/\s+/).filter((word) => !words.some((own) => own.endsWith(word))),
      [],
    )
    const lines = (await readFile(new URL(story, stories), 'utf8')).split('\n').map((line) => line.trim())
    t.ok(code.split('\n').length > 4)
    t.same(
      code.split('\n').filter((line) => !lines.includes(line.trim())),
      [],
    )
  })
}

t.test("The Python code in the guide to history is the story's", async (t) => {
  const history = await readFile(new URL('../../docs/history.md', import.meta.url), 'utf8')
  const story = await readFile(new URL('openapi-python-client/story.py', stories), 'utf8')
  const [, code = ''] = /^```python\n(.*?)^```/ms.exec(history) ?? []
  const parts = code.split('\n\n\n').map((part) => part.trim())
  t.same(
    parts.map((part) => story.includes(part)),
    [true, true],
  )
})
