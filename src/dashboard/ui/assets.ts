import { join } from 'node:path';
import geist from '@fontsource-variable/geist/files/geist-latin-wght-normal.woff2' with { type: 'file' };

const FOLDER = join(import.meta.dir, 'assets');
/** The style sheet comes last, because it has the address of the font. */
const FILES = [
  ['geist.woff2', geist, 'font/woff2'],
  ['dashboard.js', join(FOLDER, 'dashboard.js'), 'text/javascript; charset=utf-8'],
  ['mark.svg', join(FOLDER, 'mark.svg'), 'image/svg+xml'],
  ['dashboard.css', join(FOLDER, 'dashboard.css'), 'text/css; charset=utf-8'],
] as const;

export type Assets = Awaited<ReturnType<typeof loadAssets>>;

/**
 * Reads the dashboard's own files, the only ones that its pages load.
 * @param base path of the dashboard
 */
export async function loadAssets(base: string) {
  const files = new Map<string, { content: Buffer; zipped: Uint8Array<ArrayBuffer> | null; type: string }>();
  const address = (name: (typeof FILES)[number][0]) =>
    `${base}/assets/${name}?v=${Bun.hash(files.get(name)!.content).toString(36)}`;
  for (const [name, path, type] of FILES) {
    let content = Buffer.from(await Bun.file(path).arrayBuffer());
    if (name === 'dashboard.css')
      content = Buffer.from(`${content}`.replace('FONT_ADDRESS', address('geist.woff2')));
    // The font is compressed already.
    files.set(name, { content, zipped: type === 'font/woff2' ? null : Bun.gzipSync(content), type });
  }
  return {
    /** The address of a file, which changes with its content. */
    address,
    /** The answer to a request for a file; `null` if there is no such file. */
    serve(name: string, acceptEncoding: string): Response | null {
      const file = files.get(name);
      if (file === undefined) return null;
      const zipped = /\bgzip\b/.test(acceptEncoding) ? file.zipped : null;
      return new Response(zipped ?? file.content, {
        headers: {
          'Content-Type': file.type,
          'Cache-Control': 'public, max-age=31536000, immutable',
          'X-Content-Type-Options': 'nosniff',
          Vary: 'Accept-Encoding',
          ...(zipped !== null && { 'Content-Encoding': 'gzip' }),
        },
      });
    },
  };
}
