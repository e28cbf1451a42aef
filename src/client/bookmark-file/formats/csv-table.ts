/** A CSV file from its header on. */
interface CsvTable {
  text: string
  header: string
  /** Undefined unless there is a column `url`. */
  delimiter: string | undefined
}

/** Skips Excel's `sep=` line and blank lines, but not a tab before the header: the first column's name may be empty. */
export function openTable(file: string): CsvTable {
  const [mark = '', named] = /^\s*sep=([,;\t|])[ \t]*[\r\n]+/i.exec(file) ?? []
  const text = file.slice(mark.length).replace(/^(?:\s*[\r\n])?[ \uFEFF]*/, '')
  const [header = ''] = text.split(/[\r\n]/, 1)
  const delimiters = named ? [named] : [',', ';', '\t', '|']
  return { text, header, delimiter: delimiters.find((one) => header.split(one).some(isUrlColumn)) }
}

export function isUrlColumn(name: string): boolean {
  return /^ *"?url"? *$/i.test(name)
}
