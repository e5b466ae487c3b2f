/** Reeve's own machines. */
export { hashBatch, hashDirectory } from './hash-directory.ts';
