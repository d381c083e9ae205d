/** A test imports a file that it reads as text, so that `bun run check` runs the test after a change of the file. */
declare module '*.md';
declare module '*.css';
declare module '*.sql';
