/** As much of an OpenAPI document (src/http/openapi.ts) as the reference page shows. */
export interface OpenApi {
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  'x-cost': string;
  parameters: { name: string; in: 'path' | 'query'; description: string; example: string }[];
  requestBody?: { content: { 'application/json': { schema: Schema; example: unknown } } };
  responses: Record<
    string,
    { content: Record<string, { schema: Schema; examples?: Record<string, unknown> }> }
  >;
}

export interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  format?: string;
  description?: string;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
}
