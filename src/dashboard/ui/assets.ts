import { join } from 'node:path';
import geist from '@fontsource-variable/geist/files/geist-latin-wght-normal.woff2' with { type: 'file' };

const FOLDER = join(import.meta.dir, 'assets');
const FILES = [
  { name: 'dashboard.css', path: join(FOLDER, 'dashboard.css'), type: 'text/css; charset=utf-8' },
  { name: 'dashboard.js', path: join(FOLDER, 'dashboard.js'), type: 'text/javascript; charset=utf-8' },
  { name: 'mark.svg', path: join(FOLDER, 'mark.svg'), type: 'image/svg+xml' },
  { name: 'geist.woff2', path: geist, type: 'font/woff2' },
] as const;

type AssetName = (typeof FILES)[number]['name'];

export interface Assets {
  /** The address of a file, which changes with its content. */
  address(name: AssetName): string;
  /** The answer to a request for one; null when there is no such file. */
  serve(name: string, acceptEncoding: string): Response | null;
}

/**
 * The dashboard's own files, read once: nothing is loaded from elsewhere.
 * @param base path of the dashboard
 */
export async function loadAssets(base: string): Promise<Assets> {
  const files = new Map<string, { content: Uint8Array<ArrayBuffer>; type: string; version: string }>();
  const compressed = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const { name, path, type } of FILES) {
    const content = new Uint8Array(await Bun.file(path).arrayBuffer());
    files.set(name, { content, type, version: Bun.hash(content).toString(36) });
  }
  const font = `${base}/assets/geist.woff2?v=${files.get('geist.woff2')!.version}`;
  const style = files.get('dashboard.css')!;
  style.content = new TextEncoder().encode(
    new TextDecoder().decode(style.content).replace('FONT_ADDRESS', font),
  );
  style.version = Bun.hash(style.content).toString(36);
  // The font is compressed already.
  for (const [name, { content, type }] of files) {
    if (!type.startsWith('font/')) compressed.set(name, Bun.gzipSync(content));
  }
  return {
    address: (name) => `${base}/assets/${name}?v=${files.get(name)!.version}`,
    serve(name, acceptEncoding) {
      const file = files.get(name);
      if (file === undefined) return null;
      const zipped = /\bgzip\b/.test(acceptEncoding) ? compressed.get(name) : undefined;
      return new Response(zipped ?? file.content, {
        headers: {
          'Content-Type': file.type,
          'Cache-Control': 'public, max-age=31536000, immutable',
          'X-Content-Type-Options': 'nosniff',
          Vary: 'Accept-Encoding',
          ...(zipped !== undefined && { 'Content-Encoding': 'gzip' }),
        },
      });
    },
  };
}
