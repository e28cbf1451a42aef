export function percentile(figures: number[], percent: number): number {
  const sorted = figures.toSorted((one, other) => one - other)
  return sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? Number.NaN
}
