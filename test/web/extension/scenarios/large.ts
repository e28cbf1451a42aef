import { exactly, oneOf, scenario } from '../scenario.ts'

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`)

export const large = [
  scenario('2,000 in one folder, of which the last is moved to the start', async ({ one, two, same }) => {
    await one.addMany(numbered(2000))
    await same(exactly(...numbered(2000)))
    await two.move('n1999', { index: 0 })
    return exactly('n1999', ...numbered(1999))
  }),
  scenario('5,000 in 50 folders, while the other browser goes on', async ({ one, two }) => {
    const folders = numbered(50).map((folder) => ({ folder: `f-${folder}`, titles: numbered(100) }))
    const own = ['meanwhile', 'then', 'last']
    await one.addFolder('many')
    const adding = one.addFolders(folders, { into: 'many' })
    for (const title of own) await two.add(title)
    await adding
    const inMany = folders.flatMap(({ folder, titles }) => [`${folder}/`, ...titles.map((title) => `  ${title}`)])
    const many = ['many/', ...inMany.map((line) => `  ${line}`)]
    return oneOf(...[0, 1, 2, 3].map((place) => own.toSpliced(place, 0, ...many)))
  }),
]
