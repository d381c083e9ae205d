import packageJson from '../../package.json';

/** The version of the service, as the changelog names it. */
export const VERSION: string = packageJson.version;
