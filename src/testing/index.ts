/** For tests of durable machines: `import { crashEverywhere } from 'reeve/testing'`. */
export {
  crashEverywhere,
  everything,
  type CrashOptions,
  type CrashReport,
  type CrashScenario,
} from './crash-everywhere.ts';
export type { EffectRun } from './pointed-machine.ts';
export { Life, VirtualWorld, type CrashPlan, type PointName } from './virtual-world.ts';
export { virtualPool, type VirtualPool, type VirtualPoolOptions } from './virtual-pool.ts';
export type { FaultPlan, VirtualFault, VirtualTask } from './virtual-task.ts';
export { memoryDisk, type MemoryDisk } from '../store/memory-disk.ts';
export { virtualClock, type VirtualClock } from '../world/virtual-clock.ts';
