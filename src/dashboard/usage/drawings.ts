import { SECOND } from '../../units.ts';
import type { Html } from '../ui/html.ts';

/** A plot in its two sizes. */
export interface Drawing {
  wide: Html;
  narrow: Html;
}

/**
 * A drawing costs this process 20 to 40 ms, in which it answers nobody, and a page takes no credit. So one is kept, also when
 * its account makes calls meanwhile.
 */
const LIFE_MS = 30 * SECOND;
/** A drawing of 90 days takes up to 200 KB. */
const MAX_DRAWINGS = 50;

/**
 * The drawing that was made for the key within the last 30 seconds, or else a new one.
 *
 * @param key all that the drawing must agree with on its page, e.g. the order of its colours
 */
export type Drawings = (key: string, draw: () => Promise<Drawing>) => Promise<Drawing>;

/** @param nowMs a monotonic clock, for tests */
export function createDrawings(nowMs = () => performance.now()): Drawings {
  const kept = new Map<string, { drawing: Promise<Drawing>; untilMs: number }>();

  function forgetOld(): void {
    for (const [key, { untilMs }] of kept) {
      if (untilMs > nowMs() && kept.size < MAX_DRAWINGS) return;
      kept.delete(key);
    }
  }

  return (key, draw) => {
    const found = kept.get(key);
    if (found !== undefined && nowMs() < found.untilMs) return found.drawing;
    kept.delete(key);
    forgetOld();
    const drawing = draw();
    kept.set(key, { drawing, untilMs: nowMs() + LIFE_MS });
    drawing.catch(() => kept.delete(key));
    return drawing;
  };
}
