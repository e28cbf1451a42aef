import { type Feature, UnsupportedError } from './errors.ts'

/** @throws UnsupportedError the platform lacks the feature */
export function requireFeature<Part>(part: Part | undefined, feature: Feature): Part {
  if (part === undefined) throw new UnsupportedError(feature)
  return part
}
