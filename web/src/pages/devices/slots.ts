// SPDX-License-Identifier: Apache-2.0
// Slots of GPUs as blocks, now and at an earlier time.

export interface Holder {
  claim?: string;
  profile?: string;
  namespace?: string;
  pod?: string;
  container?: string;
  state?: string;
  created?: string;
  start?: number;
  share?: number;
  size?: number;
  reservedFor?: string;
}

export interface Gpu {
  node: string;
  index?: number;
  name?: string;
  uuid: string;
  memory?: string;
  largestFree?: string;
  health?: string;
  mode?: string;
  resource?: string;
  total: number;
  free: number;
  foreign?: { start: number; size: number }[];
  holders?: Holder[];
  room?: Record<string, number>;
  placements?: Record<string, { start: number; size: number }[]>;
  fragmentation?: Record<string, number>;
}

export interface HistoryChange {
  at: string;
  type: "ADDED" | "DELETED";
  node?: string;
  gpu: string;
  profile?: string;
  start: number;
  size: number;
  pod?: string;
}

export interface Block {
  start: number;
  size: number;
  kind: "held" | "foreign" | "free";
  holder?: Holder;
}

// Returns the number of the colour of a profile: profiles of one size differ, and one profile has one colour on all GPUs.
export function colourOf(profile: string | undefined, profiles: string[]): number {
  const at = profiles.indexOf(profile ?? "");
  return at < 0 ? 0 : (at % kProfileColours) + 1;
}
export const kProfileColours = 6;

// Returns all profiles of some GPUs, in their order.
export function profilesOf(gpus: Gpu[]): string[] {
  const slots = (name: string) => Math.max(...gpus.map((gpu) => gpu.placements?.[name]?.[0]?.size ?? gpu.holders?.find((one) => one.profile === name)?.size ?? 0));
  const names = new Set(gpus.flatMap((gpu) => [...Object.keys(gpu.placements ?? {}), ...(gpu.holders ?? []).flatMap((one) => (one.profile ? [one.profile] : []))]));
  return [...names].sort((a, b) => slots(a) - slots(b) || a.localeCompare(b));
}

// Returns the first characters of a UUID that tell GPUs apart.
export function shortUuid(uuid: string): string {
  return uuid.length > 16 ? `${uuid.slice(0, 12)}…` : uuid;
}

// Returns the blocks of a GPU from its first slot to its last; free slots are blocks of one.
export function blocksOf(gpu: Gpu): Block[] {
  const taken: Block[] = [
    ...(gpu.holders ?? []).map((holder) => ({ start: holder.start ?? holder.share ?? 0, size: Math.max(1, holder.size ?? 1), kind: "held" as const, holder })),
    ...(gpu.foreign ?? []).map((one) => ({ ...one, kind: "foreign" as const })),
  ].sort((a, b) => a.start - b.start);
  const blocks: Block[] = [];
  let at = 0;
  for (const block of taken) {
    if (block.start < at) continue; // an overlap: it is in the list of problems
    while (at < block.start) blocks.push({ start: at++, size: 1, kind: "free" });
    blocks.push(block);
    at = block.start + block.size;
  }
  while (at < gpu.total) blocks.push({ start: at++, size: 1, kind: "free" });
  return blocks;
}

// Returns the holders of a GPU at a time: later changes are taken back.
export function holdersAt(gpu: Gpu, changes: HistoryChange[], time: number): Holder[] {
  let holders = [...(gpu.holders ?? [])];
  for (const change of [...changes].reverse()) {
    if (Date.parse(change.at) <= time || change.gpu !== gpu.uuid) continue;
    if (change.type === "ADDED") {
      const at = holders.findIndex((one) => (one.start ?? one.share) === change.start && (one.size ?? 1) === (change.size || 1));
      if (at >= 0) holders = [...holders.slice(0, at), ...holders.slice(at + 1)];
    } else {
      holders.push({ profile: change.profile ?? "", pod: change.pod ?? "", start: change.start, size: change.size });
    }
  }
  return holders;
}

// Returns the free slots that a profile could take: those of its legal placements that nothing stands in.
export function placesOf(gpu: Gpu, profile: string): Set<number> {
  const free = new Set(blocksOf(gpu).flatMap((block) => (block.kind === "free" ? [block.start] : [])));
  const slots = new Set<number>();
  if (gpu.free === 0) return slots; // also of an unhealthy GPU
  for (const { start, size } of gpu.placements?.[profile] ?? []) {
    const wanted = Array.from({ length: size }, (_, i) => start + i);
    if (wanted.every((slot) => free.has(slot))) for (const slot of wanted) slots.add(slot);
  }
  return slots;
}
