/** What the command line is given from outside; it knows neither the process nor the machines. */

export interface CliNeeds {
  readonly version: string;
  /** Working directory: relative paths of the user start here. */
  readonly directory: string;
  /** Writes a text and a line break to standard output. */
  readonly print: (text: string) => void;
  /** The same to standard error. */
  readonly warn: (text: string) => void;
  /** Loads the module with Reeve's own machines. */
  readonly ownMachines: () => Promise<object>;
  /** Runs the demo; resolves with the exit code. */
  readonly demo: (options: DemoOptions) => Promise<number>;
}

export interface DemoOptions {
  /** Directory of files and store, as the user gave it. */
  readonly dir: string;
  readonly files: number;
  /** Bytes of each file. */
  readonly bytes: number;
  /** Only the verdict is printed. */
  readonly quiet: boolean;
  /** The findings are printed as one JSON object on the last line. */
  readonly json: boolean;
}
