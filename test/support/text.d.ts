/** `bun test --changed` runs a test after a change of a file that it imports as text. */
declare module '*.css';
