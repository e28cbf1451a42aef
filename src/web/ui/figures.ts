/** "1 bookmark", "2,000 bookmarks". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`
}

const units = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

/** "12 KB": as people say how large something is. */
export function bytes(count: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, count)) / 10)))
  const value = count / 1024 ** power
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 && power > 0 ? 1 : 0 })} ${units[power]}`
}
