/** Why there is no review, in a sentence for whoever asked for one. */
export class ReviewError extends Error {
  override name = 'ReviewError'
}
