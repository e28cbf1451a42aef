/** The part that is used. @types/papaparse would bring the globals of Node and of pages into the client. */
declare module 'papaparse' {
  interface ParseOptions {
    delimiter: string
    newline: string
    skipEmptyLines: 'greedy'
  }
  const papa: {
    /** `row` counts from 0, with the header. */
    parse(text: string, options: ParseOptions): { data: string[][]; errors: { type: string; row: number }[] }
    unparse(rows: readonly (readonly string[])[]): string
  }
  export default papa
}
