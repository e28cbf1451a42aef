/** A CSV file without what is before its header. */
interface CsvTable {
  text: string
  header: string
  /** Undefined unless one of the columns is `url`. */
  delimiter: string | undefined
}

/** Takes Excel's own first line and blank ones away, but no tab before the header: it may be behind an empty name. */
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
