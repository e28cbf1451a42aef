import type { PassphraseStrength } from './judge.ts'

const verdicts: Record<PassphraseStrength['level'], string> = {
  refused: 'Too easy to guess',
  weak: 'Weak',
  good: 'Good',
  strong: 'Strong',
}

/** How a page says how strong a passphrase is, and what would make a weak one stronger; of others, the advice is empty. */
export function describeStrength({ level, advice }: PassphraseStrength): { verdict: string; advice: string } {
  const isWeak = level === 'refused' || level === 'weak'
  return { verdict: verdicts[level], advice: isWeak ? advice.join(' ') || 'Add another word or two.' : '' }
}
