/**
 * Three readers read again and again until a change is over. An error of a reader, or of the change, is thrown.
 * @param openReader for each reader once, so that it can stand for an instance of the service. @returns one read
 */
export async function readDuring(
  change: () => Promise<void>,
  openReader: () => () => Promise<void>,
): Promise<void> {
  let isChanging = true;
  const changing = change().finally(() => {
    isChanging = false;
  });
  const readers = Array.from({ length: 3 }, async () => {
    const read = openReader();
    while (isChanging) await read();
  });
  await Promise.all([changing, ...readers]);
}
