type Matcher = (lines: string[]) => boolean

export function has(...titles: string[]): Matcher {
  return (lines) => titles.every((title) => named(lines).includes(title))
}

export function hasNot(title: string): Matcher {
  return (lines) => !has(title)(lines)
}

/** Whether these stand one below the other. */
export function inRow(...titles: string[]): Matcher {
  return (lines) => ` ${named(lines).join(' ')} `.includes(` ${titles.join(' ')} `)
}

export function count(pattern: RegExp): (lines: string[]) => number {
  return (lines) => lines.filter((line) => pattern.test(line)).length
}

/** What is at the top of one of Firefox's own folders. */
export function inSection(lines: string[], root: string): (string | undefined)[] {
  const start = lines.indexOf(root)
  const length = lines.slice(start + 1).findIndex((line) => !line.startsWith(' '))
  return named(lines.slice(start + 1, length === -1 ? undefined : start + 1 + length))
}

function named(lines: string[]): (string | undefined)[] {
  return lines.map((line) => line.trim().split(' ')[0])
}
