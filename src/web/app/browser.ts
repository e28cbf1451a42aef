/** What people call the browser and the system that a `User-Agent` names; empty if it names none that is known. */
export function browserOf(userAgent: string): string {
  const find = (names: Names) => names.find(([sign]) => userAgent.includes(sign))?.[1]
  return [find(browsers), find(systems)].filter(Boolean).join(' on ')
}

type Names = readonly (readonly [sign: string, name: string])[]

/** Most browsers claim to be those further down. */
const browsers: Names = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['Vivaldi', 'Vivaldi'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrom', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Safari/', 'Safari'],
]
const systems: Names = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
]
