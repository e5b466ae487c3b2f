/**
 * The linter's rules. What is about a whole tree (import directions, tables against documents,
 * lengths in tests) is in test/tidy.test.ts.
 */
import tseslint from 'typescript-eslint';

const SOURCES = ['src/**/*.ts', 'machines/**/*.ts', 'actors/**/*.ts'];
/** Where the real world enters: its own room, the program, and the first file of a thread. */
const DOORS = ['src/world/**', 'actors/main.ts', '**/worker.ts', '**/*-worker.ts'];

const CLOCK = 'Time enters through the injected clock (src/world/clock.ts).';
const RANDOM = 'Randomness enters through the injected random source.';
const PROGRAM = 'Only the program file and the first file of a thread know the process.';

const TIMERS = ['Timeout', 'Interval', 'Immediate'].flatMap((kind) => [
  `set${kind}`,
  `clear${kind}`,
]);

const everywhere = {
  eqeqeq: 'error',
  'no-control-regex': 'error',
  'no-empty': 'error',
  'no-fallthrough': 'error',
  'no-param-reassign': 'error',
  'no-self-compare': 'error',
  'no-unreachable-loop': 'error',
  'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true, named: true } }],
  'max-lines': ['error', { max: 400 }],
};

const typed = {
  '@typescript-eslint/consistent-type-exports': 'error',
  '@typescript-eslint/consistent-type-imports': 'error',
  '@typescript-eslint/no-confusing-void-expression': [
    'error',
    { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
  ],
  '@typescript-eslint/no-deprecated': 'error',
  // `import { type T }` alone would still load the module when the program runs.
  '@typescript-eslint/no-import-type-side-effects': 'error',
  '@typescript-eslint/no-invalid-void-type': 'error',
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/no-unnecessary-boolean-literal-compare': 'error',
  '@typescript-eslint/no-unused-vars': [
    'error',
    { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
  ],
  '@typescript-eslint/prefer-nullish-coalescing': 'error',
  '@typescript-eslint/prefer-optional-chain': 'error',
  '@typescript-eslint/prefer-readonly': 'error',
  '@typescript-eslint/return-await': ['error', 'in-try-catch'],
  '@typescript-eslint/switch-exhaustiveness-check': [
    'error',
    { considerDefaultExhaustiveForUnions: true },
  ],
  '@typescript-eslint/use-unknown-in-catch-callback-variable': 'error',
  // It would remove the types of a machine (`types: {} as T` in `setup`).
  '@typescript-eslint/no-unnecessary-type-assertion': 'off',
  // An async method without await is how a port's promise rejects instead of throwing.
  '@typescript-eslint/require-await': 'off',
  // It takes XState's `types: {} as T` for a mistake; its fix would undo the types of a machine.
  '@typescript-eslint/no-unnecessary-type-assertion': 'off',
  // Errors show what was found, whatever it is; an opaque handle may be `unknown | undefined`.
  '@typescript-eslint/no-base-to-string': 'off',
  '@typescript-eslint/no-redundant-type-constituents': 'off',
};

/** Tests build wrong values on purpose, look into XState's `any`, and hand methods to spies. */
const tests = {
  // An action may be asynchronous: the runtime waits for it, though XState's types say void.
  '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
  '@typescript-eslint/no-invalid-void-type': 'off',
  '@typescript-eslint/no-non-null-assertion': 'off',
  '@typescript-eslint/no-unsafe-argument': 'off',
  '@typescript-eslint/no-unsafe-assignment': 'off',
  '@typescript-eslint/no-unsafe-call': 'off',
  '@typescript-eslint/no-unsafe-member-access': 'off',
  '@typescript-eslint/no-unsafe-return': 'off',
  '@typescript-eslint/restrict-template-expressions': 'off',
  '@typescript-eslint/unbound-method': 'off',
};

const MODULE_STATE = ['Program >', 'Program > ExportNamedDeclaration >'].map((where) => ({
  selector: `${where} VariableDeclaration[kind=let]`,
  message: 'No state in a module.',
}));

const world = {
  'no-restricted-syntax': [
    'error',
    ...MODULE_STATE,
    { selector: 'NewExpression[callee.name=Date][arguments.length=0]', message: CLOCK },
  ],
  'no-restricted-globals': ['error', ...TIMERS.map((name) => ({ name, message: CLOCK }))],
  'no-restricted-properties': [
    'error',
    { object: 'Date', property: 'now', message: CLOCK },
    { object: 'performance', property: 'now', message: CLOCK },
    { object: 'Math', property: 'random', message: RANDOM },
    { object: 'process', property: 'env', message: PROGRAM },
    { object: 'process', property: 'exit', message: PROGRAM },
  ],
  'no-restricted-imports': [
    'error',
    { name: 'node:timers', message: CLOCK },
    { name: 'node:timers/promises', message: CLOCK },
    { name: 'node:perf_hooks', message: CLOCK },
    { name: 'node:process', message: PROGRAM },
  ],
};

const sources = {
  'max-lines-per-function': ['error', { max: 70 }],
  'no-console': 'error',
  'no-restricted-syntax': ['error', ...MODULE_STATE],
};

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', 'reeve-data/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  { files: ['**/*.{ts,mjs}'], rules: everywhere },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { project: './test/tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: typed,
  },
  { files: ['test/**/*.ts', 'bench/**/*.ts'], rules: tests },
  { files: SOURCES, rules: sources },
  { files: SOURCES, ignores: DOORS, rules: world },
  // Its reader asks for a default export.
  { files: ['vitest.config.ts'], rules: { 'no-restricted-exports': 'off' } },
);
